// `make fuzz-requests`: arbitrary bytes as the HTTP requests of a client. libFuzzer
// (https://llvm.org/docs/LibFuzzer.html) calls the function below with inputs that reach new code.

import Events
import Ingest
import Platform

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzRequests(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let start = unsafe start, count > 1 else { return 0 }
    let input = unsafe UnsafeBufferPointer(start: start, count: count)
    // A copy: Swift's arrays have a known end, which the address sanitizer guards.
    let bytes = unsafe Array(input)
    // The first byte says where the stream is cut.
    let stream = Array(bytes.dropFirst())
    let whole = RequestsClient()
    whole.send(stream)
    let cut = RequestsClient()
    let middle = Int(bytes[0]) * stream.count / 255
    cut.send(Array(stream[..<middle]))
    cut.send(Array(stream[middle...]))
    require(whole.store.events == cut.store.events, "cut at \(middle), other events are stored")
    // Dates may differ.
    let statuses = whole.statuses()
    require(statuses == cut.statuses(), "cut at \(middle), other answers are given")
    require(statuses.allSatisfy { $0 >= 100 && $0 < 600 }, "\(statuses)")
    whole.checkEvents()
    return 0
}

/// Stops with a message if an invariant does not hold.
func require(_ holds: Bool, _ message: @autoclosure () -> String) {
    if !holds { fatalError(message()) }
}
