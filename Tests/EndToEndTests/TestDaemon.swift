import Control
import Foundation
import Platform
import TestSupport
import Testing

/// The real penstockd of this build, with its own directory.
final class TestDaemon {
    /// The directory of the built programs and plugins: that of the test runner.
    static let binaries: String = {
        let runner = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (runner as NSString).deletingLastPathComponent
    }()

    let directory: String
    /// The directory of the plugins.
    private let plugins: String
    private var process: Process?

    /// Makes the directory, short enough for a socket's path, and writes the configuration, in which `DIRECTORY` stands
    /// for that directory.
    init(
        configuration: String, sources: String = oneSource, journal: String = plainJournal,
        control: String = plainControl, plugins: String = binaries
    ) throws {
        self.plugins = plugins
        directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try write(configuration: configuration, sources: sources, journal: journal, control: control)
    }

    deinit {
        if let process, process.isRunning {
            kill(process.processIdentifier, SIGKILL)
            process.waitUntilExit()
        }
        try? FileManager.default.removeItem(atPath: directory)
    }

    func path(_ name: String) -> String { directory + "/" + name }
    var events: String { path("events.sock") }
    var control: String { path("control.sock") }
    var configurationFile: String { path("penstock.yaml") }
    var processIdentifier: Int32 { process?.processIdentifier ?? 0 }

    static let oneSource = "{ apps: { socket: events.sock } }"
    static let plainJournal = "{ directory: journal }"
    static let plainControl = "{ socket: control.sock }"

    /// Writes a configuration with the given source, journal and control socket. The caller adds the rest.
    func write(
        configuration: String, sources: String = oneSource, journal: String = plainJournal,
        control: String = plainControl
    ) throws {
        let common = """
            sources: \(sources)
            journal: \(journal)
            control: \(control)
            plugins: { directories: [\(plugins)] }

            """
        try (common + configuration).replacingOccurrences(of: "DIRECTORY", with: directory)
            .write(toFile: configurationFile, atomically: true, encoding: .utf8)
    }

    /// Starts the daemon and waits until it serves.
    /// - Parameter descriptors: the daemon's descriptor limit (RLIMIT_NOFILE); nil: that of the test.
    func start(descriptors: Int? = nil, environment: [String: String]? = nil) throws {
        let process = Process()
        if let environment { process.environment = environment }
        let command = [Self.binaries + "/penstockd", "--config", configurationFile]
        // prlimit(1) becomes the daemon, so the process's id is the daemon's.
        let limited = descriptors.map { ["/usr/bin/prlimit", "--nofile=\($0)"] + command } ?? command
        process.executableURL = URL(fileURLWithPath: limited[0])
        process.arguments = Array(limited.dropFirst())
        // All runs of the daemon write to one log.
        if !FileManager.default.fileExists(atPath: path("log")) {
            try "".write(toFile: path("log"), atomically: false, encoding: .utf8)
        }
        let output = try #require(FileHandle(forWritingAtPath: path("log")))
        try output.seekToEnd()
        process.standardError = output
        process.standardInput = FileHandle.nullDevice
        try process.run()
        self.process = process
        try eventually("the daemon serves") { (try? self.status()) != nil || !process.isRunning }
        if !process.isRunning { throw Failure("the daemon ended: \(log)") }
    }

    func kill9() {
        guard let process, process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    /// Sends SIGTERM and waits for the end.
    /// - Returns: the exit status; -1: the daemon had to be killed.
    func terminate() -> Int32 {
        guard let process else { return -1 }
        process.terminate()
        do {
            try eventually("the daemon ends") { !process.isRunning }
        } catch {
            kill9()
            return -1
        }
        return process.terminationStatus
    }

    /// Sets the descriptor limit of the running daemon: it opens no descriptor with a higher number.
    func limit(descriptors: Int) throws {
        let set = try Program.run("prlimit", ["--pid", "\(processIdentifier)", "--nofile=\(descriptors):"])
        if set.status != 0 { throw Failure(set.errors) }
    }

    /// The numbers of the daemon's open descriptors.
    var descriptors: Set<Int> {
        get throws {
            Set(
                try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processIdentifier)/fd").compactMap {
                    Int($0)
                })
        }
    }

    func status() throws -> StatusReport {
        try ControlClient(socket: control).get("/status").decode(StatusReport.self)
    }

    func reload() throws -> ReloadReport {
        try ControlClient(socket: control).post("/reload", timeout: .seconds(60)).decode(ReloadReport.self)
    }

    /// Stops each of its threads until SIGCONT.
    func suspend() throws { try SuspendedProcess.suspend(processIdentifier) }

    /// Sends the daemon a signal.
    func signal(_ number: Int32) {
        kill(processIdentifier, number)
    }

    var log: String { (try? String(contentsOfFile: path("log"), encoding: .utf8)) ?? "" }

    /// The lines of a file in the daemon's directory. Empty if the file does not exist.
    func lines(_ name: String) -> [String] {
        guard let data = FileManager.default.contents(atPath: path(name)) else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Waits until every destination has caught up with the journal.
    /// - Parameter names: waits for these destinations only; nil: for all.
    func settle(_ names: [String]? = nil) throws {
        try eventually("every destination has caught up") {
            let status = try self.status()
            return status.destinations.allSatisfy { !(names?.contains($0.key) ?? true) || $0.value.lagEvents == 0 }
        }
    }

    /// Waits until the source has accepted `events` and every destination has caught up.
    func settle(accepted events: UInt64, source: String = "apps") throws {
        try eventually("\(events) events are accepted") { try self.status().sources[source]?.accepted ?? 0 >= events }
        try settle()
    }
}

/// A step that a test could not perform.
struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// Polls until the condition holds. Fails after a generous timeout, because the machine may be busy.
func eventually(
    _ what: String, within seconds: Double = 60, _ condition: () throws -> Bool
) throws {
    let deadline = Date(timeIntervalSinceNow: seconds)
    while Date() < deadline {
        if try condition() { return }
        usleep(5000)
    }
    throw Failure("waited \(Int(seconds)) s in vain: \(what)")
}
