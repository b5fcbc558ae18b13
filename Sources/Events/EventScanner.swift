import CSimdjson

/// Finds and validates the events in a buffer of lines. Reports for every other line why it is not an event.
///
/// Belongs to one thread. Reserves five bytes of memory for each byte of `maximumEventSize`; most of it stays untouched
/// while events are small.
@safe package final class EventScanner {
    /// The largest event, in bytes of JSON.
    package let maximumEventSize: Int
    /// The deepest nesting of objects and arrays, including the event itself.
    package let maximumDepth: Int

    /// The flags of an index. The others are counted.
    fileprivate static var indexFlags: UInt8 { UInt8(PSJ_HAS_EMPTY_ID.rawValue - 1) }

    private let parser: OpaquePointer
    /// The output buffer for one call of the C scanner. Reused forever.
    private var found: [psj_event]

    /// - Precondition: both limits are above 0, the size is at most 256 MiB, and enough memory is available.
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

    /// Scans all complete lines of `bytes`. For the part after the last line feed, call again when more of it has
    /// arrived. Lines that contain only white space are skipped. White space around an event (such as a carriage
    /// return) is not part of the event.
    ///
    /// In a buffer above 2 GiB, the bytes beyond that are treated as not arrived yet.
    ///
    /// Appends to `accepted` and `refused`, each in the order of the lines. The caller empties and reuses these arrays,
    /// so that no line allocates memory.
    ///
    /// - Parameter maximumRefused: the scan stops after about this many refused lines (at most 256 more). This bounds
    ///   the time for a buffer of bad lines.
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
                if take(event, of: bytes, accepted: &accepted, refused: &refused) { result.count(event.flags) }
            }
            result.consumed += consumed
            result.lines += lines
            // A full table means that there may be more lines; a partial one, that the end was reached.
            if count < found.count || refused.count >= maximumRefused { return result }
        }
    }

    /// Scans as above, with an explanation for each refused line. Allocates about 200 bytes of text per refused line.
    package func scan(
        _ bytes: Span<UInt8>, accepted: inout [ScannedEvent], refused: inout [ScannedRefusal]
    ) -> ScanResult {
        var lines: [RefusedLine] = []
        let result = scan(bytes, accepted: &accepted, refused: &lines)
        for line in lines {
            refused.append(ScannedRefusal(line: line.line, refusal: line.refusal(in: bytes, by: self)))
        }
        return result
    }

    /// - Returns: whether the event is accepted.
    private func take(
        _ event: psj_event, of bytes: Span<UInt8>, accepted: inout [ScannedEvent], refused: inout [RefusedLine]
    ) -> Bool {
        let start = Int(event.offset)
        guard event.verdict == 0, let kind = EventKind(rawValue: event.kind) else {
            refused.append(RefusedLine(event))
            return false
        }
        for (text, isSentAt) in [(event.timestamp, false), (event.sent_at, true)] {
            let text = Slice(text)
            guard text.isPresent else { continue }
            let json = bytes.extracting(start..<start + Int(event.length))
            guard !isTimestamp(json.extracting(text.range)) else { continue }
            refused.append(RefusedLine(event, invalidTimestamp: text, isSentAt: isSentAt))
            return false
        }
        accepted.append(
            ScannedEvent(
                offset: event.offset, length: event.length,
                index: EventIndex(
                    kind: kind, flags: EventIndex.Flags(rawValue: event.flags & Self.indexFlags),
                    event: Slice(event.event),
                    messageID: Slice(event.message_id), userID: Slice(event.user_id),
                    anonymousID: Slice(event.anonymous_id)),
                line: event.line))
        return true
    }

    private func isTimestamp(_ contents: Span<UInt8>) -> Bool {
        if Timestamp.isPlain(contents) || Timestamp.parse(contents) != nil { return true }
        // Escapes are valid in a time, though unusual.
        var decoded: [UInt8] = []
        guard JSONText.unescape(contents, into: &decoded) else { return false }
        return Timestamp.parse(decoded.span) != nil
    }
}

/// The progress of one scan.
package struct ScanResult: Sendable, Equatable {
    /// Bytes up to and including the last line feed.
    package var consumed: Int
    /// The number of line feeds in these bytes. Every line counts, including empty ones.
    package var lines: Int
    /// Accepted events in which `userId`, `anonymousId`, `previousId` or `groupId` is an empty string.
    package var emptyIDs = 0
    /// Accepted identifies without `traits` whose `context.traits` is an object.
    package var contextTraits = 0

    package init(consumed: Int, lines: Int) {
        self.consumed = consumed
        self.lines = lines
    }

    @inline(__always)
    fileprivate mutating func count(_ flags: UInt8) {
        if flags <= EventScanner.indexFlags { return }
        if UInt32(flags) & PSJ_HAS_EMPTY_ID.rawValue != 0 { emptyIDs += 1 }
        if UInt32(flags) & PSJ_HAS_CONTEXT_TRAITS.rawValue != 0 { contextTraits += 1 }
    }
}

extension Slice {
    @inline(__always)
    init(_ slice: psj_slice) { self.init(offset: slice.offset, length: slice.length) }
}
