import Events

/// One event in a batch: 40 bytes of index, the client's JSON, and zeros up to a multiple of eight. Format.md specifies
/// the layout.
enum RecordLayout {
    static let headerSize = 40
    /// The maximum delay of a record after its batch's receive time, in milliseconds.
    static let maximumDelay: Int64 = 0xFFFF

    /// The bytes that a record with this much JSON takes in a batch.
    @inline(__always)
    static func size(_ length: Int) -> Int { headerSize + length.paddedTo8 }

    /// Reads the record at `start`, within a payload whose checksum matches.
    /// - Returns: the length of the JSON and the header's fields; nil if the record is invalid.
    @inline(__always)
    static func read(_ bytes: RawSpan, at start: Int, end: Int) -> (
        length: Int, kind: UInt8, flags: UInt8, delay: UInt16
    )? {
        guard end - start >= headerSize else { return nil }
        let length = Int(bytes.number(UInt32.self, at: start))
        guard end - start - headerSize >= length else { return nil }
        return (
            length, bytes.number(UInt8.self, at: start + 4), bytes.number(UInt8.self, at: start + 5),
            bytes.number(UInt16.self, at: start + 6)
        )
    }

    @inline(__always)
    static func index(_ bytes: RawSpan, at start: Int, kind: EventKind, flags: UInt8, length: Int) -> EventIndex {
        EventIndex(
            kind: kind, flags: EventIndex.Flags(rawValue: flags),
            event: slice(bytes, at: start + 8, length), messageID: slice(bytes, at: start + 16, length),
            userID: slice(bytes, at: start + 24, length), anonymousID: slice(bytes, at: start + 32, length))
    }

    /// A slice that does not lie within its event counts as absent, so no reader of the journal has to check again.
    @inline(__always)
    private static func slice(_ bytes: RawSpan, at offset: Int, _ length: Int) -> Slice {
        let start = bytes.number(UInt32.self, at: offset)
        let count = bytes.number(UInt32.self, at: offset + 4)
        guard start != .max, Int(start) + Int(count) <= length else { return .absent }
        return Slice(offset: start, length: count)
    }
}
