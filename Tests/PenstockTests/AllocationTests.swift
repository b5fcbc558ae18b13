import Foundation
import Testing

/// Recording an event costs its thread few allocations. The count is of a program that has only the SDK in
/// it: here, other tests' threads would be counted. It knows what a debug build may take more.
@Suite struct AllocationTests {
    @Test func recordingACaseWithThreePropertiesTakesFewAllocations() throws {
        let process = Process()
        let output = Pipe()
        // Beside the program that runs the tests.
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(filePath: runner).deletingLastPathComponent().appending(path: "sdk-benchmark")
        process.arguments = ["allocations"]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
        #expect(text.contains(#""event":"enum""#), "\(text)")
    }
}
