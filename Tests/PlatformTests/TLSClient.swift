import Foundation
import Glibc
import Testing

@testable import Platform

/// Certificates and keys made by openssl(1) in a directory of their own.
struct Certificates {
    let directory: TemporaryDirectory

    init() throws { directory = try TemporaryDirectory() }

    func file(_ name: String) -> String { directory.file(name) }

    @discardableResult
    func openssl(_ arguments: String...) throws -> Int32 {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = arguments
        process.currentDirectoryURL = URL(fileURLWithPath: directory.path)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        return process.terminationStatus
    }

    /// A self-signed certificate NAME.pem and its key NAME.key.
    func make(_ name: String, _ more: String...) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments =
            [
                "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2",
                "-subj", "/CN=\(name)", "-addext", "subjectAltName=IP:127.0.0.1", "-keyout", file("\(name).key"),
                "-out", file("\(name).pem"),
            ] + more
        process.standardError = FileHandle.nullDevice
        process.standardInput = FileHandle.nullDevice
        try process.run()
        process.waitUntilExit()
        try #require(process.terminationStatus == 0, "openssl req failed")
    }

    /// A certificate NAME.pem, signed by the certificate `authority`.
    func make(_ name: String, signedBy authority: String) throws {
        try make(name, "-CA", file("\(authority).pem"), "-CAkey", file("\(authority).key"))
    }

    func options(_ name: String = "server", clientCA: String? = nil) -> TLSContext.Options {
        .init(certificate: file("\(name).pem"), key: .file(file("\(name).key")), clientCA: clientCA.map(file))
    }
}

/// `openssl s_client`, which sends a file and writes what it receives to another.
final class TLSClient {
    private let process = Process()
    private let received: String

    /// - Parameter arguments: such as `-CAfile`.
    init(_ address: SocketAddress, sending text: String, in directory: TemporaryDirectory, _ arguments: [String]) throws
    {
        let name = UUID().uuidString.prefix(8)
        received = directory.file("received-\(name)")
        let input = directory.file("sent-\(name)")
        try Data(text.utf8).write(to: URL(fileURLWithPath: input))
        try Data().write(to: URL(fileURLWithPath: received))
        process.executableURL = URL(fileURLWithPath: "/usr/bin/openssl")
        process.arguments = ["s_client", "-connect", "\(address)", "-quiet", "-verify_quiet"] + arguments
        process.standardInput = try FileHandle(forReadingFrom: URL(fileURLWithPath: input))
        process.standardOutput = try FileHandle(forWritingTo: URL(fileURLWithPath: received))
        process.standardError = FileHandle.nullDevice
        try process.run()
    }

    deinit { if process.isRunning { kill(process.processIdentifier, SIGKILL) } }

    /// What it received, after it has ended.
    func output() throws -> String {
        let deadline = ContinuousClock.now + .seconds(60)
        while process.isRunning, ContinuousClock.now < deadline { usleep(2_000) }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        return try String(contentsOfFile: received, encoding: .utf8)
    }

    func kill() {
        Glibc.kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    private func kill(_ process: pid_t, _ signal: Int32) { _ = Glibc.kill(process, signal) }
}

/// A TLS listener, driven by the test's thread.
final class TLSServer {
    let listener: FileDescriptor
    let address: SocketAddress
    let context: TLSContext

    init(_ options: TLSContext.Options) throws {
        context = try TLSContext(options)
        guard let free = SocketAddress("127.0.0.1:0") else { throw TCPClient.Failed(code: EINVAL) }
        listener = try TCPListener.listen(at: free)
        address = try listener.localAddress()
    }

    /// The next client, within 10 s.
    func next() throws -> TLSConnection { try TLSConnection(context, try nextClient(of: listener)) }
}

/// The server's side of a connection.
final class TLSConnection {
    let socket: FileDescriptor
    let session: TLSSession

    init(_ context: TLSContext, _ socket: consuming FileDescriptor) throws {
        guard let session = TLSSession(context, over: socket) else { throw TCPClient.Failed(code: ENOMEM) }
        self.session = session
        self.socket = socket
    }

    func stopSending() { shutdown(socket.raw, Int32(SHUT_WR)) }

    /// Reads until `isEnough`, or the connection ends. nil: not within 20 s.
    func read(limit: Int = 64 << 10, until isEnough: ([UInt8]) -> Bool = { _ in false }) -> (
        bytes: [UInt8], last: Received
    )? {
        var bytes: [UInt8] = []
        var buffer = [UInt8](repeating: 0, count: 64 << 10)
        let deadline = ContinuousClock.now + .seconds(60)
        while ContinuousClock.now < deadline {
            let received = session.receive(into: &buffer, limit: limit)
            switch received {
            case .bytes(let count): bytes += buffer[..<count]
            case .nothing:
                if !session.hasBufferedBytes {
                    waitUntilReady(socket.raw, writable: session.wantsWrite, milliseconds: 1_000)
                }
            case .end, .gone: return (bytes, received)
            }
            if isEnough(bytes) { return (bytes, received) }
        }
        return nil
    }

    /// Sends all bytes. False: not within 60 s, or the peer is gone.
    func write(_ bytes: [UInt8]) -> Bool {
        var sent = 0
        let deadline = ContinuousClock.now + .seconds(60)
        while sent < bytes.count, ContinuousClock.now < deadline {
            switch session.transmit(bytes.span.extracting(sent..<bytes.count)) {
            case .bytes(0): waitUntilReady(socket.raw, writable: true, milliseconds: 1_000)
            case .bytes(let count): sent += count
            case .gone: return false
            }
        }
        return sent == bytes.count
    }
}
