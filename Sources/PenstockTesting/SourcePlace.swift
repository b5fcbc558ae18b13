import Testing
import XCTest

/// Where a test says what it expects.
struct SourcePlace: Sendable {
    let fileID: StaticString
    let filePath: StaticString
    let line: UInt
    let column: UInt

    /// Fails the test that is running, whichever of the two libraries runs it.
    func fail(_ message: String) {
        guard Test.current != nil else { return XCTFail(message, file: filePath, line: line) }
        Issue.record(
            Comment(rawValue: message),
            sourceLocation: SourceLocation(
                fileID: "\(fileID)", filePath: "\(filePath)", line: Int(line), column: Int(column)))
    }
}
