import CSimdjson

/// The door: finds the events in a buffer of lines, and says of every other line why it is none.
///
/// Belongs to one thread. Takes five bytes of memory for each byte of `maximumEventSize`, most of
/// it untouched while events are small.
@safe package final class EventScanner {
    /// Bytes of JSON that one event may have.
    package let maximumEventSize: Int
    /// Containers within one another, the event itself counted.
    package let maximumDepth: Int

    private let parser: OpaquePointer
    /// What one call into C fills; reused for ever.
    private var found: [psj_event]

    /// - Precondition: both limits are above 0, the size is at most 256 MiB; and there is memory.
    package init(maximumEventSize: Int, maximumDepth: Int) {
        precondition(
            (1...(256 << 20)).contains(maximumEventSize) && maximumDepth > 0,
            "an event's limits are out of range: \(maximumEventSize) bytes, depth \(maximumDepth)")
        guard let parser = unsafe psj_parser_create(maximumEventSize, maximumDepth) else {
            preconditionFailure("no memory for a parser of \(maximumEventSize) bytes")
        }
        unsafe self.parser = parser
        self.maximumEventSize = maximumEventSize
        self.maximumDepth = maximumDepth
        found = Array(repeating: psj_event(), count: 256)
    }

    deinit { unsafe psj_parser_destroy(parser) }

    /// Examines every line of `bytes` that is ended by a line feed; what follows the last one is
    /// left for the caller to offer again, with more behind it. Lines of white space alone are
    /// passed over; white space around an event (a carriage return, say) is left off.
    ///
    /// Of a buffer above 2 GiB, what lies beyond counts as not there yet.
    ///
    /// Appends to `accepted` and `refused`, each in the order of the lines; the caller empties and reuses them, so that no
    /// line costs an allocation.
    ///
    /// - Parameter maximumRefused: the scan stops after about as many refused lines (at most 256 more): what a buffer of
    ///   nothing but bad lines takes is bounded.
    package func scan(
        _ bytes: Span<UInt8>, accepted: inout [ScannedEvent], refused: inout [RefusedLine], maximumRefused: Int = .max
    ) -> ScanResult {
        // Offsets have 32 bits.
        let bytes = bytes.extracting(first: Int(Int32.max))
        var result = ScanResult(consumed: 0, lines: 0)
        while true {
            var consumed = 0
            var lines = 0
            let rest = bytes.extracting(result.consumed...)
            let count = unsafe rest.withUnsafeBufferPointer { rest in
                unsafe found.withUnsafeMutableBufferPointer { found in
                    unsafe psj_scan_lines(
                        parser, rest.baseAddress, rest.count, maximumEventSize, found.baseAddress, found.count,
                        &consumed, &lines)
                }
            }
            for k in 0..<count {
                var event = found[k]
                event.offset &+= UInt32(truncatingIfNeeded: result.consumed)
                event.line &+= UInt32(truncatingIfNeeded: result.lines)
                take(event, of: bytes, accepted: &accepted, refused: &refused)
            }
            result.consumed += consumed
            result.lines += lines
            // A full table means that there may be more; anything less, that the end was met.
            if count < found.count || refused.count >= maximumRefused { return result }
        }
    }

    /// The same, with a sentence for each refusal: some 200 bytes of text for each bad line.
    package func scan(
        _ bytes: Span<UInt8>, accepted: inout [ScannedEvent], refused: inout [ScannedRefusal]
    ) -> ScanResult {
        var lines: [RefusedLine] = []
        let result = scan(bytes, accepted: &accepted, refused: &lines)
        for line in lines { refused.append(ScannedRefusal(line: line.line, refusal: line.refusal(in: bytes, by: self))) }
        return result
    }

    private func take(
        _ event: psj_event, of bytes: Span<UInt8>, accepted: inout [ScannedEvent], refused: inout [RefusedLine]
    ) {
        let start = Int(event.offset)
        guard event.verdict == 0, let kind = EventKind(rawValue: event.kind) else {
            refused.append(RefusedLine(event))
            return
        }
        for (text, isSentAt) in [(event.timestamp, false), (event.sent_at, true)] {
            let text = Slice(text)
            guard text.isPresent else { continue }
            let json = bytes.extracting(start..<start + Int(event.length))
            guard !isTimestamp(json.extracting(text.range)) else { continue }
            refused.append(RefusedLine(event, invalidTimestamp: text, isSentAt: isSentAt))
            return
        }
        accepted.append(
            ScannedEvent(
                offset: event.offset, length: event.length,
                index: EventIndex(
                    kind: kind, flags: EventIndex.Flags(rawValue: event.flags), event: Slice(event.event),
                    messageID: Slice(event.message_id), userID: Slice(event.user_id),
                    anonymousID: Slice(event.anonymous_id)),
                line: event.line))
    }

    private func isTimestamp(_ contents: Span<UInt8>) -> Bool {
        if Timestamp.parse(contents) != nil { return true }
        // Nobody writes a time with escapes, but one may.
        var decoded: [UInt8] = []
        guard JSONText.unescape(contents, into: &decoded) else { return false }
        return Timestamp.parse(decoded.span) != nil
    }
}

/// How far a scan got.
package struct ScanResult: Sendable, Equatable {
    /// Bytes, up to and including the last line feed.
    package var consumed: Int
    /// Line feeds among those: every line counts, the empty ones too.
    package var lines: Int

    package init(consumed: Int, lines: Int) {
        self.consumed = consumed
        self.lines = lines
    }
}

extension Slice {
    @inline(__always)
    init(_ slice: psj_slice) { self.init(offset: slice.offset, length: slice.length) }
}
