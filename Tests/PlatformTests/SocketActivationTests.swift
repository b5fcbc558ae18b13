import Glibc
import Platform
import Testing

@Suite struct SocketActivationTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    @Test func `a source can take its socket by name more than once`() throws {
        let path = directory.file("apps")
        let passed = try UnixListener.listen(at: path, mode: 0o600).release()
        let activation = try SocketActivation(owning: [("apps", passed)])
        #expect(activation.names == ["apps"])
        #expect(activation.paths(of: "apps") == [path])
        for _ in 0..<2 { #expect(bound(try activation.duplicate("apps")) == path) }
        #expect(bound(try activation.duplicate("other")) == nil)
    }

    @Test func `a path selects one of several sockets with the same name`() throws {
        let passed = try ["a", "b"].map {
            ("apps", try UnixListener.listen(at: directory.file($0), mode: 0o600).release())
        }
        let activation = try SocketActivation(owning: passed)
        for name in ["a", "b"] {
            #expect(bound(try activation.duplicate("apps", path: directory.file(name))) == directory.file(name))
        }
        #expect(bound(try activation.duplicate("apps", path: directory.file("c"))) == nil)
    }

    @Test func `a descriptor that is not a listening stream socket is refused by name and closed`() throws {
        let listener = try UnixListener.listen(at: directory.file("s"), mode: 0o600)
        let connected = try UnixSocket.connect(to: directory.file("s")).release()
        #expect(throws: SocketActivationError.wrongKind(name: "apps")) {
            try SocketActivation(owning: [("apps", connected)])
        }
        #expect(listener.raw >= 0)
    }

    @Test func `a datagram socket is taken by the name of its source with .datagram`() throws {
        let path = directory.file("d")
        let passed = try DatagramSocket.bind(at: path, mode: 0o600).release()
        let activation = try SocketActivation(owning: [("apps.datagram", passed)])
        #expect(activation.paths(of: "apps.datagram") == [path])
        #expect(bound(try activation.duplicate("apps.datagram")) == path)
        #expect(bound(try activation.duplicate("apps")) == nil)
    }

    @Test func `a socket of the wrong kind for its name is refused`() throws {
        let datagram = try DatagramSocket.bind(at: directory.file("d"), mode: 0o600).release()
        #expect(throws: SocketActivationError.wrongKind(name: "apps")) {
            try SocketActivation(owning: [("apps", datagram)])
        }
        let stream = try UnixListener.listen(at: directory.file("s"), mode: 0o600).release()
        #expect(throws: SocketActivationError.wrongKind(name: "apps.datagram")) {
            try SocketActivation(owning: [("apps.datagram", stream)])
        }
    }

    @Test func `a TCP socket is taken by the name of its source with .http, and by its address`() throws {
        let address = try #require(SocketAddress("127.0.0.1:0"))
        let first = try TCPListener.listen(at: address)
        let second = try TCPListener.listen(at: address)
        let places = [try first.localAddress(), try second.localAddress()]
        let activation = try SocketActivation(owning: [("apps.http", first.release()), ("apps.http", second.release())])
        #expect(activation.names == ["apps.http"])
        for place in places {
            let socket = try activation.duplicate("apps.http", at: place)
            #expect(try socket?.localAddress() == place)
        }
        #expect(bound(try activation.duplicate("apps.http", at: address)) == nil)
        #expect(try Set(activation.addresses(of: "apps.http")) == Set(places))
        #expect(try activation.addresses(of: "other.http") == [])
        #expect(activation.byName.isEmpty)
    }

    @Test func `a socket of another kind with the name of a TCP socket is refused, and the other way round`() throws {
        let unix = try UnixListener.listen(at: directory.file("s"), mode: 0o600).release()
        #expect(throws: SocketActivationError.wrongKind(name: "apps.http")) {
            try SocketActivation(owning: [("apps.http", unix)])
        }
        let tcp = try TCPListener.listen(at: #require(SocketAddress("127.0.0.1:0"))).release()
        #expect(throws: SocketActivationError.wrongKind(name: "apps")) { try SocketActivation(owning: [("apps", tcp)]) }
    }

    // This test runs in a separate process because it changes the environment. systemd passes the first socket as
    // descriptor 3. There, another thread of this process waits for events of libdispatch and traps when they end, so
    // this thread gets its own table of descriptors first.
    @Test func `a socket that systemd passes is taken once, with its name`() async {
        await #expect(processExitsWith: .success) {
            let directory = try TemporaryDirectory()
            let listener = try UnixListener.listen(at: directory.file("s"), mode: 0o600)
            try #require(unshareDescriptors())
            let before = fcntl(3, F_DUPFD_CLOEXEC, 10)
            try #require(dup2(listener.raw, 3) == 3)
            for (name, value) in ["LISTEN_PID": "\(getpid())", "LISTEN_FDS": "1", "LISTEN_FDNAMES": "apps"] {
                unsafe setenv(name, value, 1)
            }
            let names: [String]
            let path: String?
            do {
                let activation = try SocketActivation()
                names = activation.names
                path = bound(try activation.duplicate("apps"))
            }
            let again = try SocketActivation().names
            if before >= 0 { dup2(before, 3) }
            #expect(names == ["apps"])
            #expect(path == directory.file("s"))
            #expect(again == [])
            #expect(unsafe getenv("LISTEN_FDS") == nil)
        }
    }
}

/// The path that a socket is bound to. nil: no socket. Expects the descriptor to be closed on exec.
private func bound(_ socket: consuming FileDescriptor?) -> String? {
    guard let socket else { return nil }
    #expect(fcntl(socket.raw, F_GETFD) & FD_CLOEXEC != 0)
    return UnixListener.path(of: socket.raw)
}

/// Gives the calling thread its own copy of the table of descriptors: unshare(2), which Swift does not import from
/// glibc. 0x400 is CLONE_FILES in Linux's ABI.
private func unshareDescriptors() -> Bool {
    guard let symbol = unsafe dlsym(nil, "unshare") else { return false }
    let unshare = unsafe unsafeBitCast(symbol, to: (@convention(c) (Int32) -> Int32).self)
    return unshare(0x400) == 0
}
