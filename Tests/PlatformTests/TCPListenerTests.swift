import Glibc
import Testing

@testable import Platform

@Suite struct TCPListenerTests {
    @Test(arguments: [
        ("127.0.0.1:8377", "127.0.0.1:8377", true), ("localhost:1", "127.0.0.1:1", true),
        ("LocalHost:1", "127.0.0.1:1", true), ("[::1]:8377", "[::1]:8377", true),
        ("0.0.0.0:0", "0.0.0.0:0", false), ("[::]:65535", "[::]:65535", false),
        ("192.0.2.7:80", "192.0.2.7:80", false), ("[2001:DB8::0:1]:443", "[2001:db8::1]:443", false),
        ("127.255.0.9:9", "127.255.0.9:9", true), ("[::ffff:127.0.0.1]:9", "127.0.0.1:9", true),
        ("128.0.0.1:9", "128.0.0.1:9", false),
    ])
    func `an address with a port is read and shown`(_ text: String, _ shown: String, _ isLoopback: Bool) throws {
        let address = try #require(SocketAddress(text))
        #expect(address.description == shown)
        #expect(address.isLoopback == isLoopback)
        #expect(SocketAddress(address.description) == address)
    }

    @Test(arguments: [
        "", ":", "8377", ":8377", "127.0.0.1", "127.0.0.1:", "127.0.0.1:65536", "127.0.0.1:99999", "127.0.0.1:-1",
        "127.0.0.1:+1", "127.0.0.1:8 ", "127.0.0.1:٣", "127.0.0.1:000001", "::1:8377", "[::1]", "[127.0.0.1]:1", "[]:1",
        "[::1:1", "::1]:1", "example.com:80", "127.1:80", "256.0.0.1:1", "[fe80::1%lo]:1", "127.0.0.1\0:1", "[::1]\0:1",
        "http://127.0.0.1:1", "127.0.0.1:18446744073709551617",
    ])
    func `any other text is not an address`(_ text: String) {
        #expect(SocketAddress(text) == nil)
    }

    @Test(arguments: [
        ("127.0.0.1:5", "127.0.0.1:5", true), ("127.0.0.1:5", "0.0.0.0:5", true), ("0.0.0.0:5", "127.0.0.1:5", true),
        ("127.0.0.1:5", "127.0.0.2:5", false), ("127.0.0.1:5", "127.0.0.1:6", false), ("0.0.0.0:5", "[::]:5", false),
        ("[::]:5", "[::1]:5", true), ("127.0.0.1:0", "127.0.0.1:0", false),
    ])
    func `two listeners exclude each other on one port of an address`(_ a: String, _ b: String, _ overlap: Bool) throws
    {
        let (a, b) = (try #require(SocketAddress(a)), try #require(SocketAddress(b)))
        #expect(a.overlaps(b) == overlap && b.overlaps(a) == overlap)
    }

    @Test(arguments: ["127.0.0.1:0", "[::1]:0"])
    func `a listener has the port that the kernel chose, and its clients an address`(_ text: String) throws {
        let wanted = try #require(SocketAddress(text))
        let listener = try TCPListener.listen(at: wanted)
        let address = try listener.localAddress()
        #expect(address.host == wanted.host && address.port != 0)
        #expect(fcntl(listener.raw, F_GETFD) & FD_CLOEXEC != 0)
        let isAwaited = UnixListener.isAwaited(listener)
        #expect(!isAwaited)

        let client = try TCPClient(address)
        let accepted = try nextClient(of: listener)
        #expect(try accepted.peerAddress() == wanted.host)
        #expect(try accepted.peerAddress().isLoopback)
        #expect(try accepted.localAddress() == address)
        #expect(noDelay(accepted.raw) == 0)
        accepted.setNoDelay()
        #expect(noDelay(accepted.raw) == 1)
        withExtendedLifetime(client) {}
    }

    @Test func `the address of a Unix socket's peer is an error`() throws {
        let directory = try TemporaryDirectory()
        let listener = try UnixListener.listen(at: directory.file("s"), mode: 0o600)
        let client = try UnixSocket.connect(to: directory.file("s"))
        let accepted = try nextClient(of: listener)
        let error = #expect(throws: SystemError.self) { _ = try accepted.peerAddress() }
        #expect(error?.code == EAFNOSUPPORT)
        // Has no effect.
        accepted.setNoDelay()
        withExtendedLifetime(client) {}
    }

    @Test func `a port that another listener has is an error that says how to find it`() throws {
        let first = try TCPListener.listen(at: try #require(SocketAddress("127.0.0.1:0")))
        let address = try first.localAddress()
        let error = #expect(throws: TCPListenerError.self) { _ = try TCPListener.listen(at: address).raw }
        #expect(error?.error.code == EADDRINUSE)
        #expect(error?.description.contains("bind \(address): ") == true)
        #expect(error?.description.contains("ss -ltnp 'sport = :\(address.port)'") == true)
    }

    @Test func `an address of another machine is an error that names the address`() throws {
        let address = try #require(SocketAddress("192.0.2.1:0"))
        let error = #expect(throws: TCPListenerError.self) { _ = try TCPListener.listen(at: address).raw }
        #expect(error?.error.code == EADDRNOTAVAIL && error?.description.contains("192.0.2.1:0") == true)
        #expect(error?.description.contains("ip address") == true)
    }

    @Test(arguments: [
        (EACCES, "127.0.0.1:80", "AmbientCapabilities=CAP_NET_BIND_SERVICE"),
        (EACCES, "127.0.0.1:8080", "SocketBindDeny="), (EPERM, "[::1]:8080", "SocketBindDeny="),
        (EAFNOSUPPORT, "127.0.0.1:1", "must contain AF_INET"), (EAFNOSUPPORT, "[::1]:1", "must contain AF_INET6"),
    ])
    func `an error names the unit's setting`(_ code: Int32, _ text: String, _ setting: String) throws {
        let address = try #require(SocketAddress(text))
        let error = TCPListenerError(address: address, error: SystemError("bind", text, code: code))
        #expect(error.description.contains(setting))
    }

    @Test func `an IPv6 listener leaves the same port of IPv4 free`() throws {
        let six = try TCPListener.listen(at: try #require(SocketAddress("[::]:0")))
        var four = try six.localAddress()
        four.host = try #require(RemoteAddress("0.0.0.0"))
        let listener = try TCPListener.listen(at: four)
        #expect(listener.raw != six.raw)
    }

    @Test func `a listener returns at once after its clients' connections were closed`() throws {
        let listener = try TCPListener.listen(at: try #require(SocketAddress("127.0.0.1:0")))
        let address = try listener.localAddress()
        let client = try TCPClient(address)
        // The side that closes first keeps the connection in TIME_WAIT.
        close(try nextClient(of: listener).release())
        _ = consume listener
        client.close()
        let again = try TCPListener.listen(at: address)
        #expect(try again.localAddress() == address)
    }

    private func noDelay(_ socket: Int32) -> Int32 {
        var value: Int32 = 0
        var size = socklen_t(MemoryLayout<Int32>.size)
        _ = unsafe getsockopt(socket, Int32(IPPROTO_TCP), TCP_NODELAY, &value, &size)
        return value == 0 ? 0 : 1
    }
}
