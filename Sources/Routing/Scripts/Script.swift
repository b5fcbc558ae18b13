import CLua
import Events

/// A compiled Lua script: a function that takes an event. One thread.
@safe final class Script {
    struct Limits: Sendable, Equatable {
        /// Maximum instructions for one call.
        var instructions = 200_000
        /// Maximum processor time of the thread for one call. Bounds operations that take long without many
        /// instructions, such as the comparison of long texts.
        var time = Duration.milliseconds(100)
        /// Maximum memory of the script's Lua state, in bytes.
        var memory = 8 << 20
        /// Maximum total size of the events that one call returns, in bytes.
        var output = 1 << 20
    }

    struct Failure: Error, Equatable {
        /// Line in the script, starting at 1; nil: unknown.
        var line: Int?
        var message: String
    }

    private let script: OpaquePointer
    /// Kept alive here, because the C script holds an unowned pointer to it.
    private let interruption: Interruption?

    /// - Parameter interruption: when it is raised, a running call fails within a few hundred instructions.
    /// - Throws: the script's syntax error, or a lack of memory.
    init(_ text: String, limits: Limits, interruption: Interruption? = nil) throws(Failure) {
        self.interruption = interruption
        var bounds = clua_limits(
            instructions: UInt64(clamping: limits.instructions),
            time: UInt64(clamping: limits.time.attoseconds / 1_000_000_000),
            memory: limits.memory, output: limits.output)
        var failure = clua_failure()
        let bytes = Array(text.utf8)
        let created = unsafe bytes.withUnsafeBytes { bytes in
            unsafe clua_create(bytes.baseAddress?.assumingMemoryBound(to: CChar.self), bytes.count, &bounds, &failure)
        }
        guard let created = unsafe created else { throw Failure(failure) }
        unsafe script = created
        guard let interruption else { return }
        let context = unsafe Unmanaged.passUnretained(interruption).toOpaque()
        unsafe clua_set_interruption(created, clua_interruption(is_raised: isInterrupted, context: context))
    }

    deinit { unsafe clua_destroy(script) }

    /// Calls the script with one event and appends the events that it returns to `output`.
    /// - Parameters:
    ///   - json: an event; must be valid JSON.
    ///   - seed: the seed of the script's random numbers.
    func call(_ json: Span<UInt8>, seed: UInt64, into output: inout EventTexts) throws(Failure) {
        var failure = clua_failure()
        let count = unsafe json.withUnsafeBufferPointer { json in
            unsafe clua_call(script, json.baseAddress, json.count, seed, &failure)
        }
        guard count >= 0 else { throw Failure(failure) }
        guard count > 0, let events = unsafe clua_events(script), let bytes = unsafe clua_output(script) else { return }
        for k in 0..<Int(count) {
            let event = unsafe events[k]
            let text = unsafe UnsafeBufferPointer(start: bytes + event.offset, count: event.length)
            unsafe output.bytes.append(contentsOf: text)
            output.finishEvent()
        }
    }
}

// A file-level function and not a closure, because a C callback must not be isolated to an actor.
private func isInterrupted(_ context: UnsafeRawPointer?) -> Bool {
    guard let context = unsafe context else { return false }
    return unsafe Unmanaged<Interruption>.fromOpaque(context).takeUnretainedValue().isRaised
}

extension Script.Failure {
    fileprivate init(_ failure: clua_failure) {
        line = failure.line > 0 ? Int(failure.line) : nil
        message = unsafe withUnsafeBytes(of: failure.message) { bytes in
            unsafe String(decoding: bytes.prefix { $0 != 0 }, as: UTF8.self)
        }
    }
}
