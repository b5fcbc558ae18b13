import Foundation
import Testing

/// The journal allocates no heap memory per event. A program that contains only the journal counts the
/// allocations, because the threads of other tests would be counted here.
@Suite struct AllocationTests {
    @Test func `appending and committing an event allocates no heap memory`() throws {
        let rig = try Rig()
        let process = Process()
        let output = Pipe()
        // The benchmark is next to the program that runs the tests.
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
