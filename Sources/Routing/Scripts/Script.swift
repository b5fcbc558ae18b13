import CLua
import Events

/// A compiled Lua script: a function of an event. One thread.
@safe final class Script {
    struct Limits: Sendable, Equatable {
        /// Of one call.
        var instructions = 200_000
        /// Of the thread, in one call: for what cannot be counted, such as the comparison of long texts.
        var time = Duration.milliseconds(100)
        /// Bytes of the script's state.
        var memory = 8 << 20
        /// Bytes of the events that one call gives.
        var output = 1 << 20
    }

    struct Failure: Error, Equatable {
        /// In the script, from 1; nil: it is not known.
        var line: Int?
        var message: String
    }

    private let script: OpaquePointer
    /// The script holds a pointer to it.
    private let interruption: Interruption?

    /// - Parameter interruption: when it is raised, a call fails within some hundred instructions.
    /// - Throws: what is wrong with the text, or that there is no memory.
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

    /// Calls it with one event, and appends the events that it gives to `output`.
    /// - Parameters:
    ///   - json: an event, validated before.
    ///   - seed: what its random numbers start from.
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

// A file-level function, not a closure: what C calls must belong to no actor.
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
