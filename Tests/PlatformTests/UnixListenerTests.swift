import Foundation
import Glibc
import Platform
import Testing

@Suite struct UnixListenerTests {
    let directory: TemporaryDirectory
    init() throws { directory = try TemporaryDirectory() }

    @Test(arguments: [0o600, 0o660, 0o666] as [UInt32])
    func `the socket has exactly the requested mode whatever the umask is`(mode: UInt32) throws {
        let path = directory.file("s")
        let listener = try UnixListener.listen(at: path, mode: mode)
        #expect(permissions(path) == mode)
        #expect(UnixListener.path(of: listener.raw) == path)
        let client = try UnixSocket.connect(to: path)
        #expect(client.raw >= 0)
    }

    @Test func `the access mode of a socket can change while it listens`() throws {
        let path = directory.file("s")
        let listener = try UnixListener.listen(at: path, mode: 0o600)
        try UnixListener.setAccess(of: path, mode: 0o666, group: getgid())
        #expect(permissions(path) == 0o666)
        let client = try UnixSocket.connect(to: path)
        #expect(client.raw != listener.raw)
        #expect(throws: UnixSocketError.self) { try UnixListener.setAccess(of: path + "x", mode: 0o600, group: nil) }
    }

    @Test func `the socket has the requested group`() throws {
        let path = directory.file("s")
        let listener = try UnixListener.listen(at: path, mode: 0o660, group: getgid())
        var status = stat()
        #expect(unsafe lstat(path, &status) == 0)
        #expect(status.st_gid == getgid())
        #expect(fcntl(listener.raw, F_GETFD) & FD_CLOEXEC != 0)
    }

    @Test func `a socket that an ended process left is replaced`() throws {
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

    @Test func `a socket that another process listens on is in use and stays as it is`() throws {
        let path = directory.file("s")
        let first = try UnixListener.listen(at: path, mode: 0o600)
        #expect(throws: UnixSocketError.inUse(path: path)) { _ = try UnixListener.listen(at: path, mode: 0o600).raw }
        let client = try UnixSocket.connect(to: path)
        #expect(client.raw != first.raw)
    }

    @Test func `a socket whose listener is too busy to accept is in use`() throws {
        let path = directory.file("s")
        let first = try UnixListener.listen(at: path, mode: 0o600, backlog: 0)
        let queued = try UnixSocket.connect(to: path)
        #expect(throws: UnixSocketError.inUse(path: path)) { _ = try UnixListener.listen(at: path, mode: 0o600).raw }
        #expect(first.raw != queued.raw)
    }

    @Test func `a file that is not a socket is never replaced`() throws {
        let path = directory.file("data")
        try Data("precious".utf8).write(to: URL(fileURLWithPath: path))
        #expect(throws: UnixSocketError.notASocket(path: path)) {
            _ = try UnixListener.listen(at: path, mode: 0o600).raw
        }
        UnixListener.remove(path)
        #expect(try String(contentsOfFile: path, encoding: .utf8) == "precious")
    }

    @Test func `the error for a path that is too long gives its length and the limit`() throws {
        let path = directory.file(String(repeating: "x", count: 108))
        let error = #expect(throws: UnixSocketError.self) { _ = try UnixListener.listen(at: path, mode: 0o600).raw }
        #expect(error?.description.contains("at most 107 bytes, this one \(path.utf8.count)") == true)
    }

    @Test func `a path of the maximum length works`() throws {
        let path = directory.file(String(repeating: "x", count: 107 - directory.path.utf8.count - 1))
        let listener = try UnixListener.listen(at: path, mode: 0o600)
        #expect(UnixListener.path(of: listener.raw) == path)
    }

    @Test(arguments: ["", "a\0b"])
    func `an empty path or one with a NUL byte is refused`(path: String) {
        #expect(throws: UnixSocketError.pathHasNUL) { _ = try UnixListener.listen(at: path, mode: 0o600).raw }
    }

    @Test func `the error for a missing directory names the path and says what to do`() throws {
        let error = #expect(throws: UnixSocketError.self) {
            _ = try UnixListener.listen(at: directory.file("none/s"), mode: 0o600).raw
        }
        #expect(error?.description.hasSuffix("No such file or directory: create its directory first") == true)
    }

    @Test func `the error of a connect without a listener says what to do`() throws {
        let error = #expect(throws: UnixSocketError.self) { _ = try UnixSocket.connect(to: directory.file("s")).raw }
        let text = "no process listens there: start the daemon, or give the path of another socket"
        #expect(error?.description.hasSuffix(text) == true)
    }
}
