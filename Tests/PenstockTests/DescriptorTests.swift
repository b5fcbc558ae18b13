import Foundation
import PenstockTesting
import TestSupport
import Testing

@testable import Penstock

/// Processes that can open few files or none. Each runs by itself, because a test would stop all other tests.
@Suite struct DescriptorTests {
    private static let count = 200

    /// The application while it runs.
    private final class Application {
        private let process = Process()
        private let output = Pipe()
        private let directory: TemporaryDirectory
        private var said = ""

        init(_ arguments: [String]) throws {
            directory = try TemporaryDirectory()
            process.executableURL = URL(filePath: Binaries.directory + "/sdk-application")
            process.arguments = arguments
            process.standardOutput = output
            process.standardError = FileHandle(forWritingAtPath: try directory.write("errors", ""))
            try process.run()
        }

        /// Waits until the application has said this line.
        func wait(for line: String) throws {
            while !said.split(separator: "\n").contains(Substring(line)) {
                let more = output.fileHandleForReading.availableData
                guard !more.isEmpty else { throw Failure("the application ended with \(said)\(try errors)") }
                said += String(decoding: more, as: UTF8.self)
            }
        }

        /// What it has written to standard error.
        var errors: String { get throws { try String(contentsOfFile: directory.path + "/errors", encoding: .utf8) } }

        deinit {
            if process.isRunning { process.terminate() }
            process.waitUntilExit()
        }
    }

    private static let report = "spool_failed: cannot read the spool "
    private static let reason = ": Too many open files; its events stay there until it can be read; "

    private func expectReport(in errors: String) {
        #expect(errors.components(separatedBy: Self.report).count == 2, "one report: \(errors)")
        #expect(errors.contains(Self.reason), "\(errors)")
        #expect(!errors.contains("events_dropped"), "\(errors)")
    }

    @Test func `a spool that cannot be read for lack of descriptors is reported, and sent later`() throws {
        let daemon = try LocalDaemon(isStarted: false)
        let application = try Application([daemon.socket, daemon.path("spool"), "descriptors", String(Self.count)])
        try application.wait(for: "taken")
        try daemon.start()
        try application.wait(for: "sent")
        #expect(try daemon.events(waitingFor: Self.count).compactMap(\.number) == Array(0..<Self.count))
        expectReport(in: try application.errors)
    }

    @Test func `the same holds for a spool of events over HTTP`() throws {
        let server = try ScriptedServer([.status(503)])
        defer { server.stop() }
        let directory = try TemporaryDirectory()
        let application = try Application([
            "http://127.0.0.1:\(server.port)", directory.path, "descriptors", String(Self.count),
        ])
        try application.wait(for: "taken")
        let failed = server.requests.count
        server.change(to: [.status(200)])
        try application.wait(for: "sent")
        let sent = server.requests.dropFirst(failed).flatMap { request in
            let batch = JSONReader.value(of: request.body)?.dictionary?["batch"]?.array ?? []
            return batch.compactMap { $0.dictionary?["properties"]?.dictionary?["number"]?.int }
        }
        #expect(sent == Array(0..<Self.count))
        expectReport(in: try application.errors)
    }

    /// The provider needs 2 descriptors for its thread, 1 to connect, and more to look into the spool.
    @Test(arguments: 2...9)
    func `a provider that is made with few descriptors loses nothing`(descriptors: Int) async throws {
        let daemon = try LocalDaemon(isStarted: false)
        let arguments = [daemon.socket, daemon.path("spool")]
        let earlier = try await ProgramResult.run(
            Binaries.directory + "/sdk-application", arguments + ["returning", String(Self.count)])
        #expect(earlier.status == 0, "\(earlier.errors)")
        try daemon.start()
        let application = try Application(arguments + ["few-\(descriptors)", String(Self.count)])
        try application.wait(for: "sent")
        let events = try daemon.events(waitingFor: 2 * Self.count)
        #expect(Set(events.map(\.messageID)).count == 2 * Self.count)
        let errors = try application.errors
        #expect(!errors.contains("events_dropped"), "\(errors)")
    }

    @Test(arguments: 2...6)
    func `what ended processes left is purged as soon as it can be read`(descriptors: Int) async throws {
        let daemon = try LocalDaemon(isStarted: false)
        let arguments = [daemon.socket, daemon.path("spool")]
        let earlier = try await ProgramResult.run(
            Binaries.directory + "/sdk-application", arguments + ["returning", String(Self.count)])
        #expect(earlier.status == 0, "\(earlier.errors)")
        let application = try Application(arguments + ["purge-\(descriptors)", "1"])
        try application.wait(for: "purged")
        try daemon.start()
        try application.wait(for: "sent")
        #expect(try daemon.events(waitingFor: 1).compactMap(\.number) == [0])
    }
}
