import Glibc
import Platform
import Testing

/// Where the kernel allows it, clients are accepted through a ring of requests; the results are the same without it.
@Suite struct SocketVaultTests {
    let directory: TemporaryDirectory
    let path: String
    init() throws {
        directory = try TemporaryDirectory()
        path = directory.file("s")
    }

    private struct Accepted {
        var cookie: UInt64
        var isClosedOnExec: Bool
        var isNonBlocking: Bool
    }

    /// - Returns: nil: no client waits.
    private func accept(
        _ vault: SocketVault, _ listener: borrowing FileDescriptor, _ isIn: inout Bool
    ) throws -> Accepted? {
        guard let client = try vault.accept(from: listener, isIn: &isIn) else { return nil }
        return Accepted(
            cookie: client.cookie(), isClosedOnExec: fcntl(client.raw, F_GETFD) & FD_CLOEXEC != 0,
            isNonBlocking: fcntl(client.raw, F_GETFL) & O_NONBLOCK != 0)
    }

    private func cookie(_ kept: KeptSocket?) -> UInt64? {
        guard let socket = kept?.take() else { return nil }
        return socket.cookie()
    }

    @Test func `each accepted client is in the vault, in order, around the ring many times`() throws {
        let listener = try UnixListener.listen(at: path, mode: 0o600)
        let vault = try SocketVault()
        var isIn = true
        for _ in 0..<50 {
            #expect(try accept(vault, listener, &isIn) == nil)
            #expect(!isIn)
            for _ in 0..<3 {
                let client = try UnixSocket.connect(to: path)
                let accepted = try #require(try accept(vault, listener, &isIn))
                #expect(isIn)
                #expect(accepted.isClosedOnExec && accepted.isNonBlocking)
                let kept = try #require(vault.first())
                #expect(kept.map(cookie) == [accepted.cookie])
                #expect(accepted.cookie != client.cookie())
                #expect(vault.dropFirst())
            }
        }
        #expect(!vault.dropFirst())
    }

    @Test func `a client that a full vault does not take is accepted`() throws {
        let listener = try UnixListener.listen(at: path, mode: 0o600)
        let vault = try SocketVault()
        while vault.put([listener.raw]) {}
        let client = try UnixSocket.connect(to: path)
        var isIn = true
        let accepted = try #require(try accept(vault, listener, &isIn))
        #expect(!isIn)
        #expect(accepted.cookie != client.cookie())
        #expect(vault.dropFirst())
        let next = try UnixSocket.connect(to: path)
        #expect(next.raw >= 0)
        #expect(try accept(vault, listener, &isIn) != nil)
        #expect(isIn)
    }

    @Test func `an error of accept is thrown, and the next client is accepted`() throws {
        let listener = try UnixListener.listen(at: path, mode: 0o600)
        let client = try UnixSocket.connect(to: path)
        let vault = try SocketVault()
        var isIn = false
        #expect(throws: SystemError.self) { _ = try accept(vault, client, &isIn) }
        #expect(try accept(vault, listener, &isIn) != nil)
        #expect(isIn)
    }
}
