// `make fuzz-lines`: arbitrary bytes as lines of events. libFuzzer (https://llvm.org/docs/LibFuzzer.html) calls the
// function below with inputs that reach new code.
//
// Each directory of Tests/Fuzzing is one such program. To add one: a directory with a Corpus, a line in Package.swift,
// and its name in the Makefile.

import Events

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzLines(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let start = unsafe start else { return 0 }
    let input = unsafe UnsafeBufferPointer(start: start, count: count)
    // A copy: Swift's arrays have a known end, which the address sanitizer guards.
    let bytes = unsafe Array(input)
    ScannerInvariants.check(bytes)
    AdmissionInvariants.check(bytes)
    return 0
}

/// Stops with a message if an invariant does not hold.
func require(_ holds: Bool, _ message: @autoclosure () -> String) {
    if !holds { fatalError(message()) }
}
