import Foundation
public import Penstock
import Synchronization

/// A real penstockd in its own temporary directory, for integration tests.
///
/// ```swift
/// let daemon = try LocalDaemon()
/// let analytics = Analytics(providers: [DaemonProvider(daemon.providerOptions)])
/// analytics.track(ShopEvent.cartViewed)
/// #expect(await analytics.flush() == .complete)
/// #expect(try daemon.events(waitingFor: 1).map(\.name) == ["Cart Viewed"])
/// ```
///
/// It is not available on Apple's mobile platforms, where an application cannot start processes. Releasing it stops the
/// daemon and removes the directory.
public final class LocalDaemon: Sendable {
    /// An error of the daemon or of the test's setup.
    public struct Failure: Error, CustomStringConvertible {
        /// What failed, with the daemon's log.
        public let description: String
    }

    /// A configuration that writes every event unchanged to `events.ndjson` in the daemon's directory.
    public static let toFile = """
        routes: [ { to: [events] } ]
        destinations: { events: { file: events.ndjson } }
        """

    /// How long to wait for the daemon, or for events, before a test fails. It is generous because a loaded machine is
    /// slow.
    public static let patience: Duration = .seconds(60)

    /// The daemon's directory, which holds all of its files.
    public let directory: String
    /// The path of the socket that accepts events.
    public var socket: String { path("events.sock") }
    /// The path of the control socket, for `penstock status --control`.
    public var controlSocket: String { path("control.sock") }
    /// The daemon's log so far.
    public var log: String {
        FileManager.default.contents(atPath: path("log")).map { String(decoding: $0, as: UTF8.self) } ?? ""
    }

    private let executable: String
    #if os(Linux) || os(macOS)
        private let process = Mutex<Process?>(nil)
    #endif

    /// Creates the directory, starts the daemon, and waits until it accepts events.
    ///
    /// - Parameters:
    ///   - configuration: Routes, destinations, a plan and other settings, as in `penstock.yaml`. The source `apps`
    ///     with its socket, the journal and the control socket are already configured. Relative paths start in
    ///     `directory`.
    ///   - files: More files for that directory by name, such as a tracking plan or scripts.
    ///   - executable: The path of penstockd. The default is the environment variable `PENSTOCKD`, or else `penstockd`
    ///     next to the tests, where SwiftPM puts it if the package builds it, or else the one on the `PATH`.
    ///   - isStarted: Whether to start the daemon at once.
    /// - Throws: ``Failure``, with the daemon's log.
    public init(
        configuration: String = LocalDaemon.toFile, files: [String: String] = [:], executable: String? = nil,
        isStarted: Bool = true
    ) throws {
        self.executable = try Self.find(executable)
        // Keep the path short: the path of a socket has at most 107 bytes.
        directory = "/tmp/penstock-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(
            atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let surroundings = """
            sources: { apps: { socket: \(socket) } }
            journal: { directory: \(path("journal")) }
            control: { socket: \(controlSocket) }

            """
        // A single configuration file, so that relative paths start in the directory.
        for (name, text) in files { try Data(text.utf8).write(to: URL(fileURLWithPath: path(name))) }
        try Data((surroundings + configuration).utf8).write(to: URL(fileURLWithPath: path("penstock.yaml")))
        if isStarted { try start() }
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// Returns the path of a file in the daemon's directory.
    ///
    /// - Parameter name: The file's name.
    public func path(_ name: String) -> String { directory + "/" + name }

    /// Options for a `DaemonProvider` that sends to this daemon and has its spool in the daemon's directory.
    public var providerOptions: DaemonProvider.Options {
        var options = DaemonProvider.Options(environment: [:])
        options.socket = socket
        options.spool = path("spool")
        return options
    }

    // MARK: Starting and stopping

    /// Starts the daemon, and waits until it accepts events. Does nothing if the daemon runs already. You can start it
    /// again after `stop()` or `kill()`.
    ///
    /// - Throws: ``Failure``, with the daemon's log.
    public func start() throws {
        #if os(Linux) || os(macOS)
            try process.withLock { running in
                if running?.isRunning ?? false { return }
                let process = Process()
                process.executableURL = URL(fileURLWithPath: executable)
                process.arguments = ["--config", path("penstock.yaml")]
                if !FileManager.default.fileExists(atPath: path("log")) {
                    try Data().write(to: URL(fileURLWithPath: path("log")))
                }
                let log = FileHandle(forWritingAtPath: path("log"))
                try log?.seekToEnd()
                process.standardError = log
                process.standardInput = FileHandle.nullDevice
                try process.run()
                running = process
                do {
                    try Self.wait { !process.isRunning || LocalSocket.accepts(self.socket) }
                } catch is TimeOut {
                    throw Failure(
                        description: "penstockd did not accept events within \(Self.patience); its log: \(self.log)")
                }
                if !process.isRunning {
                    throw Failure(
                        description: "penstockd exited with status \(process.terminationStatus); its log: \(self.log)")
                }
            }
        #else
            throw Failure(description: "this platform cannot start processes")
        #endif
    }

    /// Asks the daemon to exit (SIGTERM), and waits until it has.
    ///
    /// - Returns: The exit status, which is 0 after an orderly exit; nil if the daemon was not running or had to be
    ///   killed.
    @discardableResult
    public func stop() -> Int32? {
        #if os(Linux) || os(macOS)
            process.withLock { running in
                guard let process = running, process.isRunning else { return nil }
                process.terminate()
                defer { running = nil }
                guard (try? Self.wait { !process.isRunning }) != nil else {
                    Self.kill(process)
                    return nil
                }
                return process.terminationStatus
            }
        #else
            nil
        #endif
    }

    /// Kills the daemon at once (SIGKILL).
    public func kill() {
        #if os(Linux) || os(macOS)
            process.withLock { running in
                if let process = running { Self.kill(process) }
                running = nil
            }
        #endif
    }

    #if os(Linux) || os(macOS)
        private static func kill(_ process: Process) {
            guard process.isRunning else { return }
            _ = LocalSocket.signal(process.processIdentifier)
            process.waitUntilExit()
        }
    #endif

    // MARK: Events that the daemon wrote

    /// Returns the events in an NDJSON file that the daemon writes, in the order of the file. The result is empty if
    /// the file does not exist yet.
    ///
    /// - Parameter file: The file's name in the daemon's directory.
    /// - Throws: ``Failure`` if a line is not an event.
    public func events(in file: String = "events.ndjson") throws -> [RecordedEvent] {
        try lines(of: file).map { line in
            guard let event = RecordedEvent(line: Array(line)) else {
                throw Failure(
                    description: "\(path(file)): this line is not an event: \(String(decoding: line, as: UTF8.self))")
            }
            return event
        }
    }

    /// Waits until a file has at least the given number of events, and returns all of its events.
    ///
    /// - Parameters:
    ///   - file: The file's name in the daemon's directory.
    ///   - count: The number of events to wait for.
    /// - Returns: All events in the file, in its order.
    /// - Throws: ``Failure`` if the events do not arrive within ``patience``.
    public func events(in file: String = "events.ndjson", waitingFor count: Int) throws -> [RecordedEvent] {
        var found = 0
        do {
            try Self.wait {
                found = lines(of: file).count
                return found >= count
            }
        } catch is TimeOut {
            throw Failure(
                description: "\(path(file)) has \(found) of \(count) events after \(Self.patience); "
                    + "the daemon's log: \(log)")
        }
        return try events(in: file)
    }

    /// Returns the complete lines. The daemon may still be writing the last one.
    private func lines(of file: String) -> [Data] {
        guard let data = FileManager.default.contents(atPath: path(file)),
            let end = data.lastIndex(of: UInt8(ascii: "\n"))
        else { return [] }
        return data[..<end].split(separator: UInt8(ascii: "\n"))
    }

    private struct TimeOut: Error {}

    /// Polls until the condition holds.
    private static func wait(_ condition: () throws -> Bool) throws {
        let end = ContinuousClock.now + patience
        while try !condition() {
            if ContinuousClock.now >= end { throw TimeOut() }
            Thread.sleep(forTimeInterval: 0.005)
        }
    }

    // MARK: The executable

    private static func find(_ given: String?) throws -> String {
        let environment = ProcessInfo.processInfo.environment
        if let named = given ?? environment["PENSTOCKD"] {
            guard FileManager.default.isExecutableFile(atPath: named) else {
                throw Failure(
                    description:
                        "\(named) is not an executable file: pass the path of penstockd, or set PENSTOCKD to it")
            }
            return named
        }
        let beside = besideTests.map { $0 + "/penstockd" }
        let onPath = (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/penstockd" }
        guard let found = (beside + onPath).first(where: FileManager.default.isExecutableFile(atPath:)) else {
            throw Failure(
                description: "penstockd is neither next to the tests nor on the PATH: "
                    + "install it, or set PENSTOCKD to its path")
        }
        return found
    }

    /// The directories in which SwiftPM puts executables: that of the test runner, or the one that contains the test
    /// bundle.
    private static var besideTests: [String] {
        var directories = [Bundle.main.bundlePath]
        if let runner = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            directories.append((runner as NSString).deletingLastPathComponent)
        }
        return directories
            + CommandLine.arguments.filter { $0.contains(".xctest") }.map { ($0 as NSString).deletingLastPathComponent }
    }
}
