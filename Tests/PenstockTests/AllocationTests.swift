import Foundation
import Testing

/// Recording an event costs its thread few allocations. The allocations are counted in a program with only the SDK,
/// because other tests' threads would be counted here. The program allows for the extra allocations of a debug build.
@Suite struct AllocationTests {
    @Test func `recording a case with three properties takes few allocations`() throws {
        let (text, status) = try SDKProgram.run("allocations")
        #expect(status == 0, "\(text)")
        #expect(text.contains(#""event":"enum""#), "\(text)")
    }
}

/// Runs the program that contains only the SDK.
enum SDKProgram {
    static func run(_ command: String) throws -> (output: String, status: Int32) {
        let process = Process()
        let output = Pipe()
        // The program is beside the test runner.
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(filePath: runner).deletingLastPathComponent().appending(path: "sdk-benchmark")
        process.arguments = [command]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        return (text, process.terminationStatus)
    }
}
