// `make fuzz-otlp`: arbitrary bytes as requests of OTLP logs, in protobuf and in JSON. libFuzzer
// (https://llvm.org/docs/LibFuzzer.html) calls the function below with inputs that reach new code.

import Events
import RequestBodies

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzOTLP(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let start = unsafe start else { return 0 }
    let input = unsafe UnsafeBufferPointer(start: start, count: count)
    // A copy: Swift's arrays have a known end, which the address sanitizer guards.
    let bytes = unsafe Array(input)
    OTLPInvariants.check(bytes, .protobuf)
    OTLPInvariants.check(bytes, .json)
    return 0
}

/// What holds for every request, whatever its bytes.
enum OTLPInvariants {
    /// Small, so that inputs reach them.
    private static let limits = OTLPLogs.Limits(maximumDepth: 8, maximumEvents: 20, maximumEventSize: 1024)

    private nonisolated(unsafe) static let scanner = EventScanner(
        maximumEventSize: limits.maximumEventSize, maximumDepth: limits.maximumDepth)

    static func check(_ bytes: [UInt8], _ encoding: OTLPLogs.Encoding) {
        let lines: EventLines
        do throws(RequestProblem) {
            lines = try OTLPLogs.lines(of: bytes.span, encoding, limits: limits)
        } catch {
            require(!error.detail.isEmpty && error.detail.utf8.count < 400, "\(error)")
            return
        }
        require(lines.count <= limits.maximumEvents, "\(lines.count) items")
        let items = (lines.items + lines.refused.map(\.item)).sorted()
        require(items == Array(0..<lines.count), "items \(items)")
        for (_, refusal) in lines.refused {
            require(!refusal.detail.isEmpty && refusal.detail.utf8.count < 400, "\(refusal)")
        }
        var (accepted, refused) = ([ScannedEvent](), [ScannedRefusal]())
        let result = unsafe scanner.scan(lines.bytes.span, accepted: &accepted, refused: &refused)
        require(result.consumed == lines.bytes.count && result.lines == lines.items.count, "\(result)")
        require(refused.isEmpty && accepted.count == lines.items.count, "\(refused)")
    }

    private static func require(_ holds: Bool, _ message: @autoclosure () -> String) {
        if !holds { fatalError(message()) }
    }
}
