import Foundation
import NIOCore
import NIOHTTP1
import NIOPosix
import Platform
import Synchronization

/// Sends requests to a running daemon. Each call opens its own connection and blocks until the answer has arrived, so
/// call it only from a thread that may block.
package struct ControlClient: Sendable {
    /// The control socket's path in the shipped configuration.
    package static let defaultSocket = "/run/penstock/control.sock"
    /// The largest answer, and the largest line of a stream, in bytes.
    static let largestAnswer = 64 << 20
    static let largestLine = 2 << 20

    package let socket: String

    package init(socket: String = Self.defaultSocket) {
        self.socket = socket
    }

    /// - Parameter timeout: for the whole call: connecting and the complete answer.
    package func get(
        _ path: String, query: [String: String] = [:], timeout: Duration = .seconds(10)
    ) throws(ControlClientError) -> ControlAnswer {
        try ask(.GET, path, query, body: [], timeout, onLine: nil)
    }

    /// - Parameter timeout: for the whole call: connecting and the complete answer.
    package func post(
        _ path: String, query: [String: String] = [:], body: [UInt8] = [], timeout: Duration = .seconds(10)
    ) throws(ControlClientError) -> ControlAnswer {
        try ask(.POST, path, query, body: body, timeout, onLine: nil)
    }

    /// Reads a stream of lines until it ends or `onLine` returns false.
    ///
    /// - Parameters:
    ///   - timeout: until the stream starts. The stream itself has no time limit.
    ///   - onLine: called for each line, without its line feed, on a thread of the client. It may block; meanwhile
    ///     nothing is read. Return false to stop.
    /// - Returns: status 200 with an empty body; or another status with the daemon's error.
    package func lines(
        _ path: String, query: [String: String] = [:], timeout: Duration = .seconds(10),
        onLine: @escaping @Sendable ([UInt8]) -> Bool
    ) throws(ControlClientError) -> ControlAnswer {
        try ask(.GET, path, query, body: [], timeout, onLine: onLine)
    }

    /// Reads a stream of lines like `lines`, for a request with a body.
    package func postForLines(
        _ path: String, query: [String: String] = [:], body: [UInt8], timeout: Duration = .seconds(10),
        onLine: @escaping @Sendable ([UInt8]) -> Bool
    ) throws(ControlClientError) -> ControlAnswer {
        try ask(.POST, path, query, body: body, timeout, onLine: onLine)
    }

    private func ask(
        _ method: HTTPMethod, _ path: String, _ query: [String: String], body: [UInt8], _ timeout: Duration,
        onLine: (@Sendable ([UInt8]) -> Bool)?
    ) throws(ControlClientError) -> ControlAnswer {
        let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)
        // Ends the group's thread. Fails only if it has ended already.
        defer { try? group.syncShutdownGracefully() }
        let answer = group.next().makePromise(of: ControlAnswer.self)
        let time = TimeAmount.nanoseconds(timeout.inNanoseconds)
        let deadline = group.next().scheduleTask(in: time) {
            answer.fail(ControlClientError(.timedOut, socket, "\(timeout)"))
        }
        do {
            let channel = try ClientBootstrap(group: group)
                .connectTimeout(time)
                .channelInitializer { channel in
                    channel.eventLoop.makeCompletedFuture {
                        try channel.pipeline.syncOperations.addHTTPClientHandlers()
                        try channel.pipeline.syncOperations.addHandler(
                            ControlAnswerReader(
                                socket: socket, answer: answer, begun: { deadline.cancel() }, onLine: onLine))
                    }
                }
                .connect(unixDomainSocketPath: socket)
                .wait()
            let headers: HTTPHeaders = [
                "host": "penstock", "connection": "close", "content-length": String(body.count),
            ]
            let target = ControlRequest.target(path, query: query)
            let head = HTTPRequestHead(version: .http1_1, method: method, uri: target, headers: headers)
            channel.write(HTTPClientRequestPart.head(head), promise: nil)
            channel.write(HTTPClientRequestPart.body(.byteBuffer(ByteBuffer(bytes: body))), promise: nil)
            // A failed write appears as a connection that ends without an answer.
            channel.writeAndFlush(HTTPClientRequestPart.end(nil), promise: nil)
            return try answer.futureResult.wait()
        } catch {
            // Completes the promise if connecting failed; nothing else would.
            answer.fail(error)
            throw ControlClientError(error, socket: socket)
        }
    }
}

/// The daemon's answer.
package struct ControlAnswer: Sendable, Equatable {
    /// The HTTP status code.
    package var status: Int
    package var body: [UInt8]

    package init(status: Int, body: [UInt8]) {
        self.status = status
        self.body = body
    }

    package var isSuccess: Bool { 200...299 ~= status }

    /// Decodes the body as one of this room's reports.
    package func decode<Report: Decodable>(_ report: Report.Type = Report.self) throws -> Report {
        try JSONDecoder().decode(report, from: Data(body))
    }

    /// The daemon's error message for a request that it did not carry out.
    package var error: String {
        if let answer = try? decode([String: String].self), let error = answer["error"] { return error }
        return "the answer has status \(status) and no reason: does penstockd listen at this socket?"
    }
}

/// The daemon's answer could not be obtained.
package struct ControlClientError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable, Equatable {
        /// The socket does not exist, or no process listens on it.
        case notRunning
        case permissionDenied
        case timedOut
        /// The connection ended before the answer was complete, or the answer is invalid.
        case broken
        /// Connecting failed for another reason.
        case unreachable
    }

    package let code: Code
    package let socket: String
    package let detail: String

    package init(_ code: Code, _ socket: String, _ detail: String = "") {
        self.code = code
        self.socket = socket
        self.detail = detail
    }

    init(_ error: any Error, socket: String) {
        switch error {
        case let error as ControlClientError: self = error
        // A link to a socket is one, too.
        case _ where UnixListener.isSocket(URL(fileURLWithPath: socket).resolvingSymlinksInPath().path) == false:
            self.init(.unreachable, socket, "it is not a socket; the daemon's is \(ControlClient.defaultSocket)")
        case let error as IOError where error.errnoCode == ENOENT || error.errnoCode == ECONNREFUSED:
            self.init(.notRunning, socket)
        case let error as IOError where error.errnoCode == EACCES || error.errnoCode == EPERM:
            self.init(.permissionDenied, socket, SocketPermission.clause(of: socket))
        case ChannelError.connectTimeout: self.init(.timedOut, socket)
        case SocketAddressError.unixDomainSocketPathTooLong:
            self.init(
                .unreachable, socket, "the path is longer than a socket's may be (\(UnixListener.longestPath) bytes)")
        default: self.init(.unreachable, socket, "\(error)")
        }
    }

    package var description: String {
        switch code {
        case .notRunning:
            "penstockd is not running: no process listens at \(socket); start it with: systemctl start penstock"
        case .permissionDenied:
            "\(socket): permission denied: \(detail): run this command as root (sudo), or as the daemon's user"
        case .timedOut:
            "penstockd did not answer in time at \(socket): see: systemctl status penstock"
        case .broken:
            "\(socket): the connection ended before the answer was complete (\(detail)): see: journalctl -u penstock"
        case .unreachable:
            "\(socket.isEmpty ? "\"\"" : socket): cannot connect: \(detail)"
        }
    }
}
