import Foundation
import Testing

/// An event on its way into the journal costs no memory of its own. The count is of a program that has
/// only the journal in it: here, other tests' threads would be counted.
@Suite struct AllocationTests {
    @Test func appendingAndCommittingAnEventTakesNothingFromTheHeap() throws {
        let rig = try Rig()
        let process = Process()
        let output = Pipe()
        // Beside the program that runs the tests.
        let runner = try FileManager.default.destinationOfSymbolicLink(atPath: "/proc/self/exe")
        process.executableURL = URL(filePath: runner).deletingLastPathComponent().appending(path: "journal-benchmark")
        process.arguments = ["allocations", rig.directory]
        process.standardOutput = output
        try process.run()
        let text = String(decoding: try output.fileHandleForReading.readToEnd() ?? Data(), as: UTF8.self)
        process.waitUntilExit()
        #expect(process.terminationStatus == 0, "\(text)")
        #expect(text.contains("\"append_per_batch\""), "\(text)")
    }
}
