import Foundation
import TestSupport

/// A program that was run to its end.
struct ProgramResult {
    var status: Int32
    /// Standard output.
    var output: String
    /// Standard error.
    var errors: String

    /// Waits without holding a thread: other tests need it meanwhile.
    ///
    /// - Parameter environment: what is added to the test's own.
    static func run(_ program: String, _ arguments: [String], environment: [String: String] = [:]) async throws -> ProgramResult {
        // Files, not pipes: nobody has to read while the program writes.
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
