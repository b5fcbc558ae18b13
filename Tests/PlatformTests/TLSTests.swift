import Foundation
import Glibc
import Testing

@testable import Platform

/// TLS with real clients: `openssl s_client` and raw sockets.
@Suite struct TLSTests {
    let certificates: Certificates

    init() throws {
        certificates = try Certificates()
        try certificates.make("server")
    }

    private func client(_ address: SocketAddress, _ text: String, _ arguments: String...) throws -> TLSClient {
        try TLSClient(
            address, sending: text, in: certificates.directory,
            ["-CAfile", certificates.file("server.pem"), "-verify_return_error"] + arguments)
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `a client sends and receives over TLS`(_ version: String) throws {
        let server = try TLSServer(certificates.options())
        let client = try client(server.address, "ping\n", version)
        let connection = try server.next()
        let session = connection.session
        #expect(session.isHandshaking && session.failure == nil)
        let read = try #require(connection.read { $0.count >= 5 })
        #expect(String(decoding: read.bytes, as: UTF8.self) == "ping\n")
        #expect(!session.isHandshaking && !session.hasBufferedBytes && !session.wantsWrite)
        #expect(session.version == (version == "-tls1_2" ? "TLSv1.2" : "TLSv1.3"))
        #expect(connection.write(Array("pong\n".utf8)))
        session.close()
        session.close()
        connection.stopSending()
        #expect(try client.output() == "pong\n")
        #expect(session.failure == nil)
    }

    @Test func `a client that offers TLS 1,1 is refused with a reason`() throws {
        let server = try TLSServer(certificates.options())
        let client = try client(server.address, "ping\n", "-tls1_1", "-cipher", "ALL:@SECLEVEL=0")
        let connection = try server.next()
        let session = connection.session
        let read = try #require(connection.read())
        #expect(read.last == .gone && read.bytes.isEmpty)
        #expect(session.failure == "the client supports neither TLS 1.2 nor TLS 1.3")
        _ = try client.output()
    }

    @Test(arguments: [("http/1.1", "http/1.1"), ("h2,http/1.1", "http/1.1"), ("h2", "")])
    func `ALPN answers http 1,1, and nothing to other protocols`(_ offered: String, _ chosen: String) throws {
        let server = try TLSServer(certificates.options())
        let process = Process()
        let output = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = ["s_client", "-connect", "\(server.address)", "-alpn", offered]
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = output
        process.standardError = FileHandle.nullDevice
        try process.run()
        let connection = try server.next()
        let session = connection.session
        // s_client ends at the end of its input.
        let read = try #require(connection.read())
        #expect(read.last == .end, "\(session.failure ?? "no failure")")
        session.close()
        connection.stopSending()
        let said = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(said.contains(chosen.isEmpty ? "No ALPN negotiated" : "ALPN protocol: \(chosen)"), "\(said)")
        #expect(said.contains("Compression: NONE") && !said.contains("TLS session ticket:"))
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `a mebibyte passes in both directions, whatever the socket takes at once`(_ version: String) throws {
        let text = String(repeating: "0123456789abcde\n", count: 65_536)
        let server = try TLSServer(certificates.options())
        let client = try client(server.address, text, version)
        let connection = try server.next()
        let session = connection.session
        var small: Int32 = 4_096
        _ = unsafe setsockopt(connection.socket.raw, SOL_SOCKET, SO_SNDBUF, &small, socklen_t(MemoryLayout<Int32>.size))
        let read = try #require(connection.read(limit: 1_000) { $0.count >= text.utf8.count })
        #expect(read.bytes.count == 1 << 20 && String(decoding: read.bytes, as: UTF8.self) == text)
        #expect(connection.write(read.bytes))
        session.close()
        connection.stopSending()
        #expect(try client.output() == text)
    }

    @Test func `a record without data does not hide the data after it`() throws {
        let server = try TLSServer(certificates.options())
        let process = Process()
        let input = Pipe()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = ["s_client", "-connect", "\(server.address)", "-tls1_3"]
        process.standardInput = input
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        defer {
            _ = Glibc.kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        let connection = try server.next()
        try input.fileHandleForWriting.write(contentsOf: Data("a\n".utf8))
        #expect(connection.read { $0.count >= 2 }?.bytes == Array("a\n".utf8))
        // The command of s_client for a key update (RFC 8446, 4.6.3), which asks for one in return.
        for _ in 0..<40 {
            try input.fileHandleForWriting.write(contentsOf: Data("K\n".utf8))
            try #require(waitUntilReadable(connection.socket.raw))
            var buffer = [UInt8](repeating: 0, count: 100)
            #expect(connection.session.receive(into: &buffer, limit: 100) == .nothing)
            #expect(!connection.session.hasBufferedBytes)
        }
        try input.fileHandleForWriting.write(contentsOf: Data("K\n".utf8))
        try #require(waitUntilReadable(connection.socket.raw))
        try input.fileHandleForWriting.write(contentsOf: Data("b\n".utf8))
        #expect(connection.read { $0.count >= 2 }?.bytes == Array("b\n".utf8))
    }

    @Test func `bytes that are decrypted and not read are reported`() throws {
        let server = try TLSServer(certificates.options())
        let client = try client(server.address, "0123456789")
        let connection = try server.next()
        let session = connection.session
        let first = try #require(connection.read(limit: 4) { !$0.isEmpty })
        #expect(first.bytes.count == 4 && session.hasBufferedBytes)
        let rest = try #require(connection.read(limit: 64) { !$0.isEmpty })
        #expect(String(decoding: rest.bytes, as: UTF8.self) == "456789" && !session.hasBufferedBytes)
        client.kill()
    }

    @Test(arguments: [
        (
            "GET / HTTP/1.1\r\nHost: a\r\n\r\n",
            "the client sent an HTTP request without TLS: its URL must begin with https"
        ),
        (
            "POST /v1/batch HTTP/1.1\r\n\r\n",
            "the client sent an HTTP request without TLS: its URL must begin with https"
        ),
        (#"{"type":"track","event":"A","userId":"u"}"# + "\n", "the client's first bytes are not TLS"),
    ])
    func `a client without TLS is refused with a reason`(_ sent: String, _ reason: String) throws {
        let server = try TLSServer(certificates.options())
        let client = try TCPClient(server.address)
        client.send(sent)
        let connection = try server.next()
        let session = connection.session
        let read = try #require(connection.read())
        #expect(read.last == .gone && session.failure == reason)
        #expect(!session.isHandshaking)
        // It stays gone.
        var buffer: [UInt8] = [0]
        #expect(session.receive(into: &buffer, limit: 1) == .gone)
        #expect(session.transmit([1, 2].span) == .gone)
        session.close()
    }

    @Test func `a client that leaves during the handshake is gone with a reason`() throws {
        let server = try TLSServer(certificates.options())
        let client = try TCPClient(server.address)
        let connection = try server.next()
        let session = connection.session
        var buffer = [UInt8](repeating: 0, count: 100)
        #expect(session.receive(into: &buffer, limit: 100) == .nothing)
        #expect(session.transmit(Array("hello".utf8).span) == .bytes(0))
        #expect(session.isHandshaking)
        client.close()
        let read = try #require(connection.read())
        #expect(read.last == .gone)
        #expect(session.failure == "the client closed the connection during the handshake")
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `a handshake that arrives byte by byte succeeds`(_ version: String) throws {
        let context = try TLSContext(certificates.options())
        let outer = try TCPListener.listen(at: try #require(SocketAddress("127.0.0.1:0")))
        let client = try client(try outer.localAddress(), "ping\n", version)
        let fromClient = try nextClient(of: outer)
        var pair: [Int32] = [-1, -1]
        try #require(unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0)
        let far = FileDescriptor(owning: pair[1])
        let connection = try TLSConnection(context, FileDescriptor(owning: pair[0]))
        let session = connection.session

        var buffer = [UInt8](repeating: 0, count: 16 << 10)
        var waiting: [UInt8] = []
        var received: [UInt8] = []
        var nothings = 0
        let deadline = ContinuousClock.now + .seconds(60)
        while received.count < 5, ContinuousClock.now < deadline {
            if waiting.isEmpty {
                // What the server has to say, then what the client answers.
                while case .bytes(let count) = far.receive(into: &buffer, limit: buffer.count) {
                    try #require(fromClient.transmit(buffer.span.extracting(0..<count)) == .bytes(count))
                }
                waitUntilReady(fromClient.raw, writable: false, milliseconds: 1_000)
                if case .bytes(let count) = fromClient.receive(into: &buffer, limit: buffer.count) {
                    waiting += buffer[..<count]
                }
                continue
            }
            let byte = [waiting.removeFirst()]
            try #require(far.transmit(byte.span) == .bytes(1))
            switch session.receive(into: &buffer, limit: buffer.count) {
            case .bytes(let count): received += buffer[..<count]
            case .nothing: nothings += 1
            case .end, .gone: Issue.record("\(session.failure ?? "the connection ended")")
            }
        }
        #expect(String(decoding: received, as: UTF8.self) == "ping\n")
        #expect(nothings > 200)
        client.kill()
    }

    @Test func `an end without close_notify is an end, and sending to a client that left raises no signal`() throws {
        var pipe = sigset_t()
        var before = sigset_t()
        _ = unsafe sigemptyset(&pipe)
        _ = unsafe sigaddset(&pipe, SIGPIPE)
        // A raised signal would stay pending for this thread.
        _ = unsafe pthread_sigmask(SIG_BLOCK, &pipe, &before)
        defer { _ = unsafe pthread_sigmask(SIG_SETMASK, &before, nil) }

        let server = try TLSServer(certificates.options())
        let client = try client(server.address, "x")
        let connection = try server.next()
        let session = connection.session
        _ = try #require(connection.read { !$0.isEmpty })
        client.kill()
        let read = try #require(connection.read())
        #expect(read.last == .end && session.failure == nil)
        let block = [UInt8](repeating: 7, count: 1 << 20)
        let deadline = ContinuousClock.now + .seconds(60)
        while session.transmit(block.span) != .gone, ContinuousClock.now < deadline {
            waitUntilReady(connection.socket.raw, writable: true, milliseconds: 10)
        }
        #expect(session.transmit(block.span) == .gone)
        session.close()
        var pending = sigset_t()
        _ = unsafe sigpending(&pending)
        #expect(unsafe sigismember(&pending, SIGPIPE) == 0)
    }

    @Test(arguments: ["-tls1_2", "-tls1_3"])
    func `with a client CA, only a client with a certificate of it is served`(_ version: String) throws {
        try certificates.make("ca")
        try certificates.make("app", signedBy: "ca")
        try certificates.make("stranger")
        let server = try TLSServer(certificates.options(clientCA: "ca.pem"))

        func failure(_ arguments: String...) throws -> String? {
            let client = try TLSClient(
                server.address, sending: "hello", in: certificates.directory,
                ["-CAfile", certificates.file("server.pem"), version] + arguments)
            let connection = try server.next()
            let session = connection.session
            let read = try #require(connection.read { !$0.isEmpty })
            #expect((session.failure == nil) == (read.bytes == Array("hello".utf8)))
            client.kill()
            return session.failure
        }
        #expect(try failure() == "the client sent no certificate")
        let stranger = try failure(
            "-cert", certificates.file("stranger.pem"), "-key", certificates.file("stranger.key"))
        #expect(stranger?.hasPrefix("the client's certificate is not accepted: self") == true, "\(stranger ?? "")")
        #expect(try failure("-cert", certificates.file("app.pem"), "-key", certificates.file("app.key")) == nil)
    }

    @Test func `many sessions of one context run on several threads`() async throws {
        let context = try TLSContext(certificates.options())
        let served = await withTaskGroup(of: Bool.self) { group in
            for _ in 0..<8 {
                group.addTask {
                    (0..<50).allSatisfy { _ in
                        var pair: [Int32] = [-1, -1]
                        guard unsafe socketpair(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0, &pair) == 0 else {
                            return false
                        }
                        let far = FileDescriptor(owning: pair[1])
                        let near = try? TLSConnection(context, FileDescriptor(owning: pair[0]))
                        guard let session = near?.session else { return false }
                        _ = far.transmit(Array("GET / HTTP/1.1\r\n".utf8).span)
                        var buffer = [UInt8](repeating: 0, count: 10)
                        return session.receive(into: &buffer, limit: 10) == .gone
                            && session.failure?.contains("https") == true
                    }
                }
            }
            return await group.reduce(true) { $0 && $1 }
        }
        #expect(served)
    }
}
