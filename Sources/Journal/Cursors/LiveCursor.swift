/// The progress of one passage of events to a destination, up to its last settled batch. It is written after each batch
/// without a sync, so a kill loses none of it. Only destinations that keep no state with their cursor have one: a
/// position alone does not match a state that was stored earlier.
package struct LiveCursor: Sendable, Equatable {
    /// The kind of passage. The raw value is stored and never changes.
    package enum Kind: UInt16, Sendable, CaseIterable {
        case delivery = 1
        case replay = 2
        case retry = 3
    }

    /// The maximum number of ranges stored: the lowest ones. Events in further ranges are delivered again after a kill.
    package static let rangeLimit = 120

    package var kind: Kind
    /// Identifies the replay or the set of letters; a cursor with another tag does not apply to them. 0 for delivery.
    package var tag: UInt64
    /// Every event below is settled.
    package var position: UInt64
    /// Ranges above `position` that are settled too, in ascending order. Batches in flight lie between them.
    package var settled: [Range<UInt64>]

    package init(_ kind: Kind, tag: UInt64 = 0, position: UInt64, settled: [Range<UInt64>] = []) {
        self.kind = kind
        self.tag = tag
        self.position = position
        self.settled = settled
    }

    /// The cursor without the positions at or above `end`.
    func clipped(to end: UInt64) -> LiveCursor {
        var clipped = self
        clipped.position = min(position, end)
        clipped.settled = settled.compactMap { range in
            range.lowerBound < end ? range.lowerBound..<min(range.upperBound, end) : nil
        }
        return clipped
    }

    /// The cursor without the positions below `start`.
    func raised(to start: UInt64) -> LiveCursor {
        guard start > position else { return self }
        var raised = self
        raised.position = start
        raised.settled = settled.compactMap { range in
            range.upperBound > start ? max(range.lowerBound, start)..<range.upperBound : nil
        }
        while let first = raised.settled.first, first.lowerBound == raised.position {
            raised.position = first.upperBound
            raised.settled.removeFirst()
        }
        return raised
    }

    /// Whether this cursor is newer than another one of the same passage. Settled events never become unsettled.
    func isNewer(than other: LiveCursor) -> Bool {
        if position != other.position { return position > other.position }
        return settled.reduce(0) { $0 + $1.count } > other.settled.reduce(0) { $0 + $1.count }
    }
}

/// The destination and the kind of a live cursor, as the files store them.
struct LiveCursorKey: Hashable {
    var destination: UInt64
    var kind: LiveCursor.Kind

    init(_ name: String, _ kind: LiveCursor.Kind) {
        destination = Self.number(of: name)
        self.kind = kind
    }

    init(destination: UInt64, kind: LiveCursor.Kind) {
        self.destination = destination
        self.kind = kind
    }

    /// A destination's number: the CRC32C of its name in the low 32 bits, the CRC32C of the reversed name in the high
    /// 32 bits.
    static func number(of name: String) -> UInt64 {
        let bytes = Array(name.utf8)
        let reversed = [UInt8](bytes.reversed())
        return UInt64(Checksum.of(bytes.span.raw)) | UInt64(Checksum.of(reversed.span.raw)) << 32
    }
}

/// One live cursor as the files store it: 32 bytes, then 8 bytes for each range. Format.md specifies the layout.
enum LiveCursorEntry {
    static let headerSize = 32

    static func append(_ key: LiveCursorKey, _ cursor: LiveCursor, to bytes: inout [UInt8]) {
        var ranges: [(distance: UInt32, length: UInt32)] = []
        var end = cursor.position
        for range in cursor.settled.prefix(LiveCursor.rangeLimit) {
            guard range.lowerBound >= end, let distance = UInt32(exactly: range.lowerBound - end),
                let length = UInt32(exactly: range.count)
            else { break }
            ranges.append((distance, length))
            end = range.upperBound
        }
        bytes.append(number: key.kind.rawValue)
        bytes.append(number: UInt16(clamping: ranges.count))
        bytes.append(number: UInt32(0))
        bytes.append(number: key.destination)
        bytes.append(number: cursor.tag)
        bytes.append(number: cursor.position)
        for (distance, length) in ranges {
            bytes.append(number: distance)
            bytes.append(number: length)
        }
    }

    /// Reads the entry at `start`.
    /// - Returns: nil if the entry does not fit or its numbers overflow. `value` is nil for a kind that a later version
    ///   added.
    static func read(_ bytes: RawSpan, at start: Int) -> (value: (key: LiveCursorKey, cursor: LiveCursor)?, size: Int)?
    {
        guard start >= 0, bytes.byteCount - start >= headerSize else { return nil }
        let count = Int(bytes.number(UInt16.self, at: start + 2))
        let size = headerSize + 8 * count
        guard bytes.byteCount - start >= size else { return nil }
        guard let kind = LiveCursor.Kind(rawValue: bytes.number(UInt16.self, at: start)) else { return (nil, size) }
        var cursor = LiveCursor(
            kind, tag: bytes.number(UInt64.self, at: start + 16), position: bytes.number(UInt64.self, at: start + 24))
        var end = cursor.position
        for place in stride(from: start + headerSize, to: start + size, by: 8) {
            let (lower, isBeyond) = end.addingReportingOverflow(UInt64(bytes.number(UInt32.self, at: place)))
            let (upper, isFar) = lower.addingReportingOverflow(UInt64(bytes.number(UInt32.self, at: place + 4)))
            guard !isBeyond, !isFar else { return nil }
            if lower < upper { cursor.settled.append(lower..<upper) }
            end = upper
        }
        return ((LiveCursorKey(destination: bytes.number(UInt64.self, at: start + 8), kind: kind), cursor), size)
    }
}

/// Live cursors that recovery found: the newest for each destination and kind.
struct FoundLiveCursors {
    private(set) var cursors: [LiveCursorKey: LiveCursor] = [:]

    /// Adds a cursor. Of two cursors with the same tag, the newer one stays. Of two with different tags, the one added
    /// later stays: the passage with the other tag finds no live cursor and continues from the file `cursors`.
    mutating func add(_ key: LiveCursorKey, _ cursor: LiveCursor) {
        if let old = cursors[key], old.tag == cursor.tag, !cursor.isNewer(than: old) { return }
        cursors[key] = cursor
    }

    mutating func add(_ other: FoundLiveCursors) {
        for (key, cursor) in other.cursors { add(key, cursor) }
    }

    /// Adds the entries of a batch of live cursors.
    mutating func add(entries bytes: RawSpan) {
        var place = 0
        while let (value, size) = LiveCursorEntry.read(bytes, at: place) {
            if let value { add(value.key, value.cursor) }
            place += size
        }
    }
}
