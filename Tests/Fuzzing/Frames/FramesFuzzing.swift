// `make fuzz-frames`: arbitrary bytes as the messages of a plugin's process, and as its standard error. libFuzzer
// (https://llvm.org/docs/LibFuzzer.html) calls the function below with inputs that reach new code.
//
// An input is a script: pieces of the plugin's bytes, with the daemon's own steps between them. The parts of the daemon
// are the real ones, without a process: PluginMessages, which reads the bytes, and the receiver of a sink or a source.
// Beside them, ChannelModel reads the same bytes in the plainest way, from the description in plugin_channel.h. Both
// must agree on what is allowed and on what it means for each event.
//
// The shared memory of batches is not an input: the process maps it to read only, and the daemon never reads it.

import PluginHosting

@_cdecl("LLVMFuzzerTestOneInput")
public func fuzzFrames(_ start: UnsafePointer<UInt8>?, _ count: Int) -> CInt {
    guard let start = unsafe start, count > 1 else { return 0 }
    let input = unsafe UnsafeBufferPointer(start: start, count: count)
    // A copy: Swift's arrays have a known end, which the address sanitizer guards.
    let script = unsafe FrameScript(Array(input))
    let whole = trace(script, pieces: .max)
    let cut = trace(script, pieces: script.pieceSize)
    require(whole == cut, "in pieces of \(script.pieceSize) bytes, the messages have other effects")
    return 0
}

/// What the script does, in words.
private func trace(_ script: FrameScript, pieces size: Int) -> [String] {
    switch script.role {
    case .sink: SinkSide().run(script, pieces: size)
    case .source: SourceSide().run(script, pieces: size)
    }
}

/// Stops with a message if an invariant does not hold.
func require(_ holds: Bool, _ message: @autoclosure () -> String) {
    if !holds { fatalError(message()) }
}
