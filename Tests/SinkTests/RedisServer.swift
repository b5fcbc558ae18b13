import Foundation
import PluginTesting
import TestSupport

/// Debian's redis-server for one test, on a Unix socket in a directory of its own. It ends with this object. One thread
/// starts and ends it.
final class RedisServer: @unchecked Sendable {
    let directory: PluginTestDirectory
    private let arguments: [String]
    private var process = Process()

    var socket: String { "\(directory.path)/redis.sock" }

    /// - Parameter arguments: of redis-server. The data is in an append-only file that is written before each reply.
    init(_ arguments: [String] = []) throws {
        directory = try PluginTestDirectory()
        self.arguments = arguments
        try start()
    }

    deinit { kill() }

    /// The last lines of its log.
    var log: String {
        let text = (try? String(contentsOfFile: "\(directory.path)/redis.log", encoding: .utf8)) ?? ""
        return text.split(separator: "\n").suffix(60).joined(separator: "\n")
    }

    /// Starts the server and waits until it answers commands. (While it reads its data it answers LOADING.)
    func start(_ more: [String] = [], waiting: Bool = true) throws {
        try? FileManager.default.removeItem(atPath: socket)
        process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/bin/redis-server")
        process.arguments =
            [
                "--port", "0", "--unixsocket", socket, "--dir", directory.path, "--save", "", "--appendonly", "yes",
                "--appendfsync", "always", "--logfile", "\(directory.path)/redis.log",
            ] + arguments + more
        try process.run()
        let socket = socket
        guard pluginEventually({ FileManager.default.fileExists(atPath: socket) }),
            !waiting || pluginEventually({ self.isReady })
        else { throw TestProblem(description: "redis-server does not start: see \(directory.path)/redis.log") }
    }

    private var isReady: Bool {
        guard let reply = try? ask("PING") else { return false }
        return !reply.isEmpty && !reply.contains("LOADING")
    }

    func kill() {
        signal(SIGKILL)
        process.waitUntilExit()
    }

    /// Cuts the append-only file back to the last whole transaction, as RedisSink.md says: the server itself may keep
    /// a part of the one that it was writing.
    func repair() throws {
        let file = "\(directory.path)/appendonlydir/appendonly.aof.manifest"
        _ = try TestCompiler.run(["sh", "-c", "echo y | redis-check-aof --fix '\(file)'"])
    }

    /// Stops each of its threads until SIGCONT.
    func suspend() throws { if process.isRunning { try SuspendedProcess.suspend(process.processIdentifier) } }

    func signal(_ number: Int32) { if process.isRunning { _ = Glibc.kill(process.processIdentifier, number) } }

    /// The number of entries of the stream `events`; 0 while the server does not answer.
    func length() -> Int { (try? ask("XLEN", "events")).flatMap { Int($0) } ?? 0 }

    /// The reply to a command, as redis-cli prints it.
    @discardableResult
    func ask(_ words: String...) throws -> String {
        try TestCompiler.run(["redis-cli", "-s", socket] + words).output.trimmingCharacters(in: .newlines)
    }

    /// The fields of a stream's entries.
    func entries(_ stream: String = "events", _ login: [String] = []) throws -> [[String: String]] {
        let (_, output) = try TestCompiler.run(
            ["redis-cli", "-s", socket, "--json"] + login + ["XRANGE", stream, "-", "+"])
        guard let list = try? JSONSerialization.jsonObject(with: Data(output.utf8)) as? [[Any]] else {
            throw TestProblem(description: "\(output): \(log)")
        }
        return list.map { entry in
            let pairs = entry[1] as? [String] ?? []
            return Dictionary(
                uniqueKeysWithValues: stride(from: 0, to: pairs.count, by: 2).map { (pairs[$0], pairs[$0 + 1]) })
        }
    }

    func positions(_ stream: String = "events") throws -> [UInt64] {
        try entries(stream).compactMap { $0["position"].flatMap(UInt64.init) }
    }
}
