import Glibc
import Platform
import Testing

@Suite struct SocketActivationTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    @Test func `a source finds its socket by name, again and again`() throws {
        let path = directory.file("apps")
        let passed = try UnixListener.listen(at: path, mode: 0o600).release()
        let activation = try SocketActivation(owning: [("apps", passed)])
        #expect(activation.names == ["apps"])
        #expect(activation.paths(of: "apps") == [path])
        for _ in 0..<2 {
            let copy = try #require(try activation.duplicate("apps"))
            #expect(UnixListener.path(of: copy.raw) == path)
            #expect(fcntl(copy.raw, F_GETFD) & FD_CLOEXEC != 0)
        }
        #expect(try activation.duplicate("other") == nil)
    }

    @Test func `several sockets of one name are told apart by path`() throws {
        let passed = try ["a", "b"].map { ("apps", try UnixListener.listen(at: directory.file($0), mode: 0o600).release()) }
        let activation = try SocketActivation(owning: passed)
        let second = try #require(try activation.duplicate("apps", path: directory.file("b")))
        #expect(UnixListener.path(of: second.raw) == directory.file("b"))
        #expect(try activation.duplicate("apps", path: directory.file("c")) == nil)
    }

    @Test func `what is not a listening stream socket is refused by name and closed`() throws {
        let listener = try UnixListener.listen(at: directory.file("s"), mode: 0o600)
        let connected = try UnixSocket.connect(to: directory.file("s")).release()
        #expect(throws: SocketActivationError.wrongKind(name: "apps")) {
            try SocketActivation(owning: [("apps", connected)])
        }
        #expect(listener.raw >= 0)
    }

    @Test func `without systemd nothing is passed`() throws {
        #expect(try SocketActivation().names.isEmpty)
    }
}
