import Control
import Foundation
import Platform
import Testing

/// The real penstockd, as this build made it, on a directory of its own.
final class TestDaemon {
    /// Where the build put the programs and the plugins: beside the test runner.
    static let binaries: String = {
        let runner = (try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")) ?? ""
        return (runner as NSString).deletingLastPathComponent
    }()

    let directory: String
    private var process: Process?

    /// Makes the directory, short enough for a socket's path, and writes the configuration.
    /// `DIRECTORY` in it stands for that directory.
    init(configuration: String, sources: String = oneSource, journal: String = plainJournal) throws {
        directory = "/tmp/penstock-test-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false)
        try write(configuration: configuration, sources: sources, journal: journal)
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

    /// Source, journal and control socket are given; the rest is the caller's.
    func write(configuration: String, sources: String = oneSource, journal: String = plainJournal) throws {
        let common = """
            sources: \(sources)
            journal: \(journal)
            control: { socket: control.sock }
            plugins: { directories: [\(Self.binaries)] }

            """
        try (common + configuration.replacingOccurrences(of: "DIRECTORY", with: directory))
            .write(toFile: configurationFile, atomically: true, encoding: .utf8)
    }

    /// Starts it and waits until it serves.
    /// - Parameter descriptors: how many it may have (RLIMIT_NOFILE); nil: as many as the test.
    func start(descriptors: Int? = nil) throws {
        let process = Process()
        let command = [Self.binaries + "/penstockd", "--config", configurationFile]
        // prlimit(1) becomes the daemon, so the process's number is the daemon's.
        let limited = descriptors.map { ["/usr/bin/prlimit", "--nofile=\($0)"] + command } ?? command
        process.executableURL = URL(fileURLWithPath: limited[0])
        process.arguments = Array(limited.dropFirst())
        // One log for all its lives.
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

    /// SIGTERM.
    /// - Returns: its exit status; -1: it had to be killed.
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

    /// Sets how many descriptors the running daemon may have: more than those with lower numbers are then not opened.
    func limit(descriptors: Int) throws {
        let set = try Program.run("prlimit", ["--pid", "\(processIdentifier)", "--nofile=\(descriptors):"])
        if set.status != 0 { throw Failure(set.errors) }
    }

    /// The numbers of the descriptors that it has open.
    var descriptors: Set<Int> {
        get throws { Set(try FileManager.default.contentsOfDirectory(atPath: "/proc/\(processIdentifier)/fd").compactMap { Int($0) }) }
    }

    func status() throws -> StatusReport {
        try ControlClient(socket: control).get("/status").decode(StatusReport.self)
    }

    func reload() throws -> ReloadReport {
        try ControlClient(socket: control).post("/reload", timeout: .seconds(60)).decode(ReloadReport.self)
    }

    /// Sends it a signal.
    func signal(_ number: Int32) {
        kill(processIdentifier, number)
    }

    var log: String { (try? String(contentsOfFile: path("log"), encoding: .utf8)) ?? "" }

    /// Lines of a file in the daemon's directory; none if it is not there.
    func lines(_ name: String) -> [String] {
        guard let data = FileManager.default.contents(atPath: path(name)) else { return [] }
        return String(decoding: data, as: UTF8.self).split(separator: "\n").map(String.init)
    }

    /// Waits until every destination has worked off the journal.
    /// - Parameter names: only these.
    func settle(_ names: [String]? = nil) throws {
        try eventually("every destination has caught up") {
            let status = try self.status()
            return status.destinations.allSatisfy { !(names?.contains($0.key) ?? true) || $0.value.lagEvents == 0 }
        }
    }

    /// Waits until `events` have been accepted by the source, and every destination has them.
    func settle(accepted events: UInt64, source: String = "apps") throws {
        try eventually("\(events) events are accepted") { try self.status().sources[source]?.accepted ?? 0 >= events }
        try settle()
    }
}

/// What a test could not do.
struct Failure: Error, CustomStringConvertible {
    var description: String
    init(_ description: String) { self.description = description }
}

/// Asks until the condition holds; fails after a generous bound, since the machine may be busy.
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
