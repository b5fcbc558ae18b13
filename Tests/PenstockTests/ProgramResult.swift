import Foundation
import TestSupport

/// The result of a program that has ended.
struct ProgramResult {
    var status: Int32
    /// Standard output.
    var output: String
    /// Standard error.
    var errors: String

    /// Runs the program without blocking a thread, because other tests need the threads meanwhile.
    ///
    /// - Parameter environment: additions to the test's own environment.
    static func run(_ program: String, _ arguments: [String], environment: [String: String] = [:]) async throws
        -> ProgramResult
    {
        // Files instead of pipes, so that the program never waits for a reader.
        let scratch = try TemporaryDirectory()
        let process = Process()
        process.executableURL = URL(filePath: "/usr/bin/env")
        process.arguments = [program] + arguments
        process.environment = ProcessInfo.processInfo.environment.merging(environment) { $1 }
        let (output, errors) = (try scratch.write("output", ""), try scratch.write("errors", ""))
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle(forWritingAtPath: output)
        process.standardError = FileHandle(forWritingAtPath: errors)
        try await withCheckedThrowingContinuation { (caller: CheckedContinuation<Void, any Error>) in
            process.terminationHandler = { _ in caller.resume() }
            do {
                try process.run()
            } catch {
                caller.resume(throwing: error)
            }
        }
        return ProgramResult(
            status: process.terminationStatus, output: try String(contentsOfFile: output, encoding: .utf8),
            errors: try String(contentsOfFile: errors, encoding: .utf8))
    }
}
