import Foundation
import Glibc
import Platform
import Testing

@Suite struct UnixListenerTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: [0o600, 0o660, 0o666] as [UInt32])
    func `the socket has exactly the mode asked for, whatever the umask`(mode: UInt32) throws {
        let path = directory.file("s")
        let listener = try UnixListener.listen(at: path, mode: mode)
        #expect(permissions(path) == mode)
        #expect(UnixListener.path(of: listener.raw) == path)
        let client = try UnixSocket.connect(to: path)
        #expect(client.raw >= 0)
    }

    @Test func `who may connect can change while it listens`() throws {
        let path = directory.file("s")
        let listener = try UnixListener.listen(at: path, mode: 0o600)
        try UnixListener.setAccess(of: path, mode: 0o666, group: getgid())
        #expect(permissions(path) == 0o666)
        let client = try UnixSocket.connect(to: path)
        #expect(client.raw != listener.raw)
        #expect(throws: UnixSocketError.self) { try UnixListener.setAccess(of: path + "x", mode: 0o600, group: nil) }
    }

    @Test func `the socket gets the group asked for`() throws {
        let path = directory.file("s")
        let listener = try UnixListener.listen(at: path, mode: 0o660, group: getgid())
        var status = stat()
        #expect(unsafe lstat(path, &status) == 0)
        #expect(status.st_gid == getgid())
        #expect(fcntl(listener.raw, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test func `a socket that a dead process left is replaced`() throws {
        let path = directory.file("s")
        do {
            let dead = try UnixListener.listen(at: path, mode: 0o600)
            #expect(dead.raw >= 0)
        }
        #expect(permissions(path) == 0o600)
        let listener = try UnixListener.listen(at: path, mode: 0o660)
        #expect(permissions(path) == 0o660)
        let client = try UnixSocket.connect(to: path)
        #expect(client.raw != listener.raw)
    }

    @Test func `a socket that somebody listens on is left alone`() throws {
        let path = directory.file("s")
        let first = try UnixListener.listen(at: path, mode: 0o600)
        #expect(throws: UnixSocketError.inUse(path: path)) { _ = try UnixListener.listen(at: path, mode: 0o600).raw }
        let client = try UnixSocket.connect(to: path)
        #expect(client.raw != first.raw)
    }

    @Test func `a listener too busy to answer is in use, too`() throws {
        let path = directory.file("s")
        let first = try UnixListener.listen(at: path, mode: 0o600, backlog: 0)
        let queued = try UnixSocket.connect(to: path)
        #expect(throws: UnixSocketError.inUse(path: path)) { _ = try UnixListener.listen(at: path, mode: 0o600).raw }
        #expect(first.raw != queued.raw)
    }

    @Test func `a file that is not a socket is never replaced`() throws {
        let path = directory.file("data")
        try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: UnixSocketError.notASocket(path: path)) { _ = try UnixListener.listen(at: path, mode: 0o600).raw }
        UnixListener.remove(path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    }

    @Test func `a path that does not fit says how long it is and how long it may be`() throws {
        let path = directory.file(String(repeating: "x", count: 108))
        let error = #expect(throws: UnixSocketError.self) { _ = try UnixListener.listen(at: path, mode: 0o600).raw }
        #expect(error?.description.contains("at most 107 bytes, this one \(path.utf8.count)") == true)
    }

    @Test func `the longest path that fits works`() throws {
        let path = directory.file(String(repeating: "x", count: 107 - directory.path.utf8.count - 1))
        let listener = try UnixListener.listen(at: path, mode: 0o600)
        #expect(UnixListener.path(of: listener.raw) == path)
    }

    @Test(arguments: ["", "a\0b"])
    func `a path that cannot be one is refused`(path: String) {
        #expect(throws: UnixSocketError.pathHasNUL) { _ = try UnixListener.listen(at: path, mode: 0o600).raw }
    }

    @Test func `a missing directory is named, with what to do`() throws {
        let error = #expect(throws: UnixSocketError.self) {
            _ = try UnixListener.listen(at: directory.file("none/s"), mode: 0o600).raw
        }
        #expect(error?.description.hasSuffix("No such file or directory: make its directory first") == true)
    }

    @Test func `a client is told when nobody listens, and what to do`() throws {
        let error = #expect(throws: UnixSocketError.self) { _ = try UnixSocket.connect(to: directory.file("s")).raw }
        #expect(error?.description.hasSuffix("nobody listens there: start the daemon, or name another socket") == true)
    }
}
