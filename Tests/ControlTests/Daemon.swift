import Control
import Foundation
import NIOCore
import NIOPosix
import Synchronization

/// A control server on its own socket that answers as the test specifies. It stops with its last reference.
final class Daemon {
    let directory: String
    let socket: String
    let server: ControlServer
    private let group = MultiThreadedEventLoopGroup(numberOfThreads: 1)

    var client: ControlClient { ControlClient(socket: socket) }

    init(
        limits: ControlServer.Limits = .init(), mode: UInt32 = 0o600,
        _ handle: @escaping @Sendable (ControlRequest, ControlReply) -> Void
    ) throws {
        // Short: a socket's path has at most 107 bytes.
        directory =
            FileManager.default.temporaryDirectory.appendingPathComponent("ps-" + UUID().uuidString.prefix(8)).path
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        socket = directory + "/control.sock"
        server = try ControlServer.open(
            path: socket, mode: mode, handler: Handler(handle), group: group, limits: limits)
        server.serve()
    }

    deinit {
        server.stop()
        try? group.syncShutdownGracefully()
        try? FileManager.default.removeItem(atPath: directory)
    }

    private struct Handler: ControlHandler {
        let answer: @Sendable (ControlRequest, ControlReply) -> Void
        init(_ answer: @escaping @Sendable (ControlRequest, ControlReply) -> Void) { self.answer = answer }
        func handle(_ request: ControlRequest, reply: ControlReply) { answer(request, reply) }
    }
}

/// Collects values from several threads.
final class Collected<Value: Sendable>: Sendable {
    private let list = Mutex<[Value]>([])

    var values: [Value] { list.withLock { $0 } }

    /// - Returns: the number of values so far.
    @discardableResult
    func append(_ value: Value) -> Int {
        list.withLock {
            $0.append(value)
            return $0.count
        }
    }
}

/// Whether the condition becomes true within a minute.
func eventually(_ condition: () -> Bool) -> Bool {
    let end = ContinuousClock.now + .seconds(60)
    while !condition() {
        guard ContinuousClock.now < end else { return false }
        Thread.sleep(forTimeInterval: 0.002)
    }
    return true
}
