import Foundation
public import Penstock
import Synchronization

/// The real penstockd, in a temporary directory of its own, for integration tests.
///
/// ```swift
/// let daemon = try LocalDaemon()
/// let analytics = Analytics(providers: [DaemonProvider(daemon.providerOptions)])
/// analytics.track(ShopEvent.cartViewed)
/// #expect(await analytics.flush() == .complete)
/// #expect(try daemon.events(waitingFor: 1).map(\.name) == ["Cart Viewed"])
/// ```
///
/// Not on Apple's mobile platforms, which start no processes. Its end stops the daemon and removes the directory.
public final class LocalDaemon: Sendable {
    /// Why there is no daemon.
    public struct Failure: Error, CustomStringConvertible {
        /// One sentence, with what the daemon said.
        public let description: String
    }

    /// Takes every event and writes it, as it came, to `events.ndjson` in the daemon's directory.
    public static let toFile = """
        routes: [ { to: [events] } ]
        destinations: { events: { file: events.ndjson } }
        """

    /// How long to wait for the daemon, or for events, before it is a failure: a loaded machine is slow.
    public static let patience: Duration = .seconds(60)

    /// Everything that the daemon has lies in it.
    public let directory: String
    /// The socket that takes events.
    public var socket: String { path("events.sock") }
    /// The socket of `penstock status --control`.
    public var controlSocket: String { path("control.sock") }
    /// What the daemon has said.
    public var log: String { FileManager.default.contents(atPath: path("log")).map { String(decoding: $0, as: UTF8.self) } ?? "" }

    private let executable: String
    #if os(Linux) || os(macOS)
        private let process = Mutex<Process?>(nil)
    #endif

    /// Makes the directory, starts the daemon, and waits until it takes events.
    ///
    /// - Parameters:
    ///   - configuration: routes, destinations, a plan…, as in `penstock.yaml`. The source `apps` with its socket,
    ///     the journal and the control socket are configured already. Relative paths are in `directory`.
    ///   - files: more files for that directory, by their names: a tracking plan, scripts.
    ///   - executable: the path of penstockd. If not given: the environment's `PENSTOCKD`, then `penstockd` beside the
    ///     tests, where SwiftPM puts it if the package builds it, then on the `PATH`.
    ///   - isStarted: whether it is started at once.
    /// - Throws: ``Failure``, with what the daemon said.
    public init(
        configuration: String = LocalDaemon.toFile, files: [String: String] = [:], executable: String? = nil, isStarted: Bool = true
    ) throws {
        self.executable = try Self.find(executable)
        // Short: a socket's path has at most 107 bytes.
        directory = "/tmp/penstock-\(UUID().uuidString.prefix(8))"
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o700])
        let surroundings = """
            sources: { apps: { socket: \(socket) } }
            journal: { directory: \(path("journal")) }
            control: { socket: \(controlSocket) }

            """
        // One file, so that relative paths start in the directory.
        for (name, text) in files { try Data(text.utf8).write(to: URL(fileURLWithPath: path(name))) }
        try Data((surroundings + configuration).utf8).write(to: URL(fileURLWithPath: path("penstock.yaml")))
        if isStarted { try start() }
    }

    deinit {
        kill()
        try? FileManager.default.removeItem(atPath: directory)
    }

    /// A path in the daemon's directory.
    public func path(_ name: String) -> String { directory + "/" + name }

    /// Options for a `DaemonProvider` that sends to this daemon, with a spool in its directory.
    public var providerOptions: DaemonProvider.Options {
        var options = DaemonProvider.Options(environment: [:])
        options.socket = socket
        options.spool = path("spool")
        return options
    }

    // MARK: Its life

    /// Starts it, again maybe, and waits until it takes events. Nothing, if it runs.
    public func start() throws {
        #if os(Linux) || os(macOS)
            try process.withLock { running in
                if running?.isRunning ?? false { return }
                let process = Process()
                process.executableURL = URL(fileURLWithPath: executable)
                process.arguments = ["--config", path("penstock.yaml")]
                if !FileManager.default.fileExists(atPath: path("log")) { try Data().write(to: URL(fileURLWithPath: path("log"))) }
                let log = FileHandle(forWritingAtPath: path("log"))
                try log?.seekToEnd()
                process.standardError = log
                process.standardInput = FileHandle.nullDevice
                try process.run()
                running = process
                do {
                    try Self.wait { !process.isRunning || LocalSocket.accepts(self.socket) }
                } catch is TimeOut {
                    throw Failure(description: "penstockd does not take events after \(Self.patience): \(self.log)")
                }
                if !process.isRunning { throw Failure(description: "penstockd ended with status \(process.terminationStatus): \(self.log)") }
            }
        #else
            throw Failure(description: "this platform starts no processes")
        #endif
    }

    /// Asks it to end (SIGTERM), and waits until it has.
    /// - Returns: its exit status; 0 is an orderly end. Nil if it did not run, or had to be killed.
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

    /// Ends it as a power cut would (SIGKILL).
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

    // MARK: What it wrote

    /// The events in a file of NDJSON that the daemon writes, in its order; none if there is no file yet.
    /// - Throws: ``Failure`` if a line is no event.
    public func events(in file: String = "events.ndjson") throws -> [RecordedEvent] {
        try lines(of: file).map { line in
            guard let event = RecordedEvent(line: Array(line)) else {
                throw Failure(description: "\(path(file)): this is no event: \(String(decoding: line, as: UTF8.self))")
            }
            return event
        }
    }

    /// Waits until the file has so many events, or more, and returns all of them.
    /// - Throws: ``Failure`` if they do not come within ``patience``.
    public func events(in file: String = "events.ndjson", waitingFor count: Int) throws -> [RecordedEvent] {
        var found = 0
        do {
            try Self.wait {
                found = lines(of: file).count
                return found >= count
            }
        } catch is TimeOut {
            throw Failure(description: "waited \(Self.patience) in vain: \(path(file)) has \(found) of \(count) events; the daemon says: \(log)")
        }
        return try events(in: file)
    }

    /// Whole lines: the last one may be being written.
    private func lines(of file: String) -> [Data] {
        guard let data = FileManager.default.contents(atPath: path(file)), let end = data.lastIndex(of: UInt8(ascii: "\n")) else { return [] }
        return data[..<end].split(separator: UInt8(ascii: "\n"))
    }

    private struct TimeOut: Error {}

    /// Looks until the condition holds.
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
            guard FileManager.default.isExecutableFile(atPath: named) else { throw Failure(description: "there is no program \(named)") }
            return named
        }
        let beside = besideTests.map { $0 + "/penstockd" }
        let onPath = (environment["PATH"] ?? "").split(separator: ":").map { "\($0)/penstockd" }
        guard let found = (beside + onPath).first(where: FileManager.default.isExecutableFile(atPath:)) else {
            throw Failure(
                description: "penstockd was not found beside the tests, nor on the PATH: install it, or set PENSTOCKD to its path")
        }
        return found
    }

    /// Where SwiftPM puts what it builds: the runner's own directory, or the one in which the test bundle lies.
    private static var besideTests: [String] {
        var directories = [Bundle.main.bundlePath]
        if let runner = try? FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe") {
            directories.append((runner as NSString).deletingLastPathComponent)
        }
        return directories + CommandLine.arguments.filter { $0.contains(".xctest") }.map { ($0 as NSString).deletingLastPathComponent }
    }
}
