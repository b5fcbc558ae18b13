import Foundation
import PluginTesting
import TestSupport

/// One or three `nats-server` processes with JetStream, on free ports, in a directory of their own. They end with this
/// object.
final class NATSServers {
    private(set) var ports: [UInt16] = []
    let directory: PluginTestDirectory
    private var processes: [Process?] = []
    private var configurations: [String] = []

    /// - Parameters:
    ///   - count: with more than one, they are a cluster.
    ///   - more: more lines of the configuration.
    ///   - starts: false: `start` starts them.
    init(_ count: Int = 1, more: String = "", starts: Bool = true) throws {
        directory = try PluginTestDirectory()
        // Another process may take a port before its server does.
        for attempt in 1...5 {
            try configure(count, more)
            guard starts else { break }
            do {
                for index in 0..<count { try start(index) }
                try waitUntilAllListen()
                break
            } catch {
                for index in 0..<count { end(index) }
                if attempt == 5 { throw error }
            }
        }
    }

    /// Chooses the ports and writes the configurations.
    private func configure(_ count: Int, _ more: String) throws {
        ports = try (0..<count).map { _ in try freePort() }
        let routes = try (0..<count).map { _ in try freePort() }
        configurations = []
        processes = Array(repeating: nil, count: count)
        for index in 0..<count {
            // An earlier attempt may have left them.
            for name in ["\(index)", "\(index).log"] {
                try? FileManager.default.removeItem(atPath: "\(directory.path)/\(name)")
            }
            let cluster = """
                cluster { name: test, listen: "127.0.0.1:\(routes[index])",
                    routes: [\(routes.map { "\"nats-route://127.0.0.1:\($0)\"" }.joined(separator: ", "))] }
                """
            configurations.append(
                try directory.add(
                    "\(index).conf",
                    Data(
                        """
                        server_name: n\(index)
                        listen: "127.0.0.1:\(ports[index])"
                        jetstream { store_dir: "\(directory.path)/\(index)" }
                        \(count > 1 ? cluster : "")
                        \(more)
                        """.utf8)))
        }
    }

    /// Not by connecting: another process may listen at the port.
    private func waitUntilAllListen() throws {
        let kinds = processes.count > 1 ? ["client", "route"] : ["client"]
        let isOver = pluginEventually {
            processes.contains { $0?.isRunning != true }
                || processes.indices.allSatisfy { index in
                    kinds.allSatisfy { text(ofLog: index).contains("Listening for \($0) connections on") }
                }
        }
        guard isOver, processes.allSatisfy({ $0?.isRunning == true }) else {
            let logs = processes.indices.map { String(text(ofLog: $0).suffix(500)) }
            throw TestProblem(description: "a nats-server does not listen: \(logs)")
        }
    }

    private func text(ofLog index: Int) -> String {
        (try? String(contentsOfFile: "\(directory.path)/\(index).log", encoding: .utf8)) ?? ""
    }

    deinit { for index in processes.indices { end(index) } }

    /// A JSON array of URLs.
    var urls: String { "[\(ports.map { "\"nats://127.0.0.1:\($0)\"" }.joined(separator: ","))]" }

    func start(_ index: Int) throws {
        let process = Process()
        process.executableURL = URL(fileURLWithPath: "/usr/sbin/nats-server")
        process.arguments = ["-c", configurations[index], "-l", "\(directory.path)/\(index).log"]
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle.nullDevice
        try process.run()
        processes[index] = process
    }

    /// SIGKILL.
    func end(_ index: Int) {
        guard let process = processes[index] else { return }
        if process.isRunning { kill(process.processIdentifier, SIGKILL) }
        process.waitUntilExit()
        processes[index] = nil
    }

    /// Stops each thread of a server until `resume`.
    func suspend(_ index: Int) throws {
        if let process = processes[index] { try SuspendedProcess.suspend(process.processIdentifier) }
    }

    func resume(_ index: Int) {
        if let process = processes[index] { kill(process.processIdentifier, SIGCONT) }
    }
}
