import Control
import Foundation
import Platform

/// A running `penstock tap`. Its output goes to a file, or to a pipe that the test reads or does not read.
final class TapProcess {
    private let process = Process()
    private let output: String
    private let errors: String

    /// Starts the command, and waits until the daemon has started the tap.
    init(_ daemon: TestDaemon, _ arguments: String..., into pipe: Pipe? = nil) throws {
        let id = UUID().uuidString.prefix(8)
        output = daemon.path("tap-\(id)")
        errors = output + ".errors"
        for file in [output, errors] { try "".write(toFile: file, atomically: false, encoding: .utf8) }
        process.executableURL = URL(fileURLWithPath: TestDaemon.binaries + "/penstock")
        process.arguments = ["tap", "--control", daemon.control] + arguments
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = pipe ?? FileHandle(forWritingAtPath: output)
        process.standardError = FileHandle(forWritingAtPath: errors)
        let before = try daemon.taps
        try process.run()
        try eventually("the tap runs") { try daemon.taps > before || !process.isRunning }
    }

    deinit {
        guard process.isRunning else { return }
        kill(process.processIdentifier, SIGKILL)
        process.waitUntilExit()
    }

    var isRunning: Bool { process.isRunning }
    var processIdentifier: Int32 { process.processIdentifier }
    var errorText: String { (try? String(contentsOfFile: errors, encoding: .utf8)) ?? "" }
    var text: String { (try? String(contentsOfFile: output, encoding: .utf8)) ?? "" }

    /// The records so far.
    var records: [[String: Any]] { text.split(separator: "\n").compactMap { jsonObject(String($0)) } }

    /// Waits until there are that many records.
    func records(_ count: Int) throws -> [[String: Any]] {
        do {
            try eventually("\(count) records") { records.count >= count }
        } catch {
            throw Failure("\(error): \(text) \(errorText)")
        }
        return records
    }

    func signal(_ number: Int32) { kill(process.processIdentifier, number) }

    /// Waits for its end.
    /// - Returns: the exit status; -1: a signal has killed it.
    func end() throws -> Int32 {
        try eventually("the tap ends") { !process.isRunning }
        return process.terminationReason == .exit ? process.terminationStatus : -1
    }
}

extension TestDaemon {
    /// The number of running taps: each has a thread.
    var taps: Int {
        get throws {
            let tasks = "/proc/\(processIdentifier)/task"
            return try FileManager.default.contentsOfDirectory(atPath: tasks).count {
                (try? String(contentsOfFile: "\(tasks)/\($0)/comm", encoding: .utf8)) == "tap\n"
            }
        }
    }

    /// The processor time that the daemon has used, in seconds.
    var processorTime: Double {
        get throws {
            let text = try String(contentsOfFile: "/proc/\(processIdentifier)/stat", encoding: .utf8)
            let fields = text[text.lastIndex(of: ")")!...].split(separator: " ")
            guard fields.count > 13, let user = Double(fields[12]), let system = Double(fields[13]) else {
                throw Failure("cannot read \(text)")
            }
            return (user + system) / 100
        }
    }
}
