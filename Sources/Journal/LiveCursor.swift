/// How far one passage of events to a destination is, up to its last settled batch. It is written after each batch,
/// without a sync: a kill loses none of it. Only destinations that keep nothing with their cursor have one, because
/// a position says nothing about the state that would belong to it.
package struct LiveCursor: Sendable, Equatable {
    /// What is on its way to the destination. The raw value is stored: it never changes.
    package enum Kind: UInt16, Sendable, CaseIterable {
        case delivery = 1
        case replay = 2
        case retry = 3
    }

    /// Ranges that are kept at most; the first ones. What lies in the others is delivered again after a kill.
    package static let rangeLimit = 120

    package var kind: Kind
    /// Which replay or which letters: a cursor of another one says nothing about them. 0 for delivery.
    package var tag: UInt64
    /// Everything below is settled.
    package var position: UInt64
    /// Settled as well: ascending ranges above `position`. Batches that are in flight lie between them.
    package var settled: [Range<UInt64>]

    package init(_ kind: Kind, tag: UInt64 = 0, position: UInt64, settled: [Range<UInt64>] = []) {
        self.kind = kind
        self.tag = tag
        self.position = position
        self.settled = settled
    }

    /// Without what lies at or above a position.
    func clipped(to end: UInt64) -> LiveCursor {
        var clipped = self
        clipped.position = min(position, end)
        clipped.settled = settled.compactMap { range in
            range.lowerBound < end ? range.lowerBound..<min(range.upperBound, end) : nil
        }
        return clipped
    }

    /// Without what lies below a position.
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

    /// Whether it was taken after another one of the same passage. What is settled never becomes unsettled.
    func isNewer(than other: LiveCursor) -> Bool {
        if position != other.position { return position > other.position }
        return settled.reduce(0) { $0 + $1.count } > other.settled.reduce(0) { $0 + $1.count }
    }
}

/// Whose live cursor it is, as the files name it.
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

    /// A destination's number: the CRC32C of its name, and above that the CRC32C of its name reversed.
    static func number(of name: String) -> UInt64 {
        let bytes = Array(name.utf8)
        let reversed = [UInt8](bytes.reversed())
        return UInt64(Checksum.of(bytes.span.raw)) | UInt64(Checksum.of(reversed.span.raw)) << 32
    }
}

/// One live cursor as the files hold it: 32 bytes, then 8 for each range. Format.md has the layout.
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
    /// - Returns: nil if it does not fit, or its numbers overflow. `value` is nil for a kind of a later version.
    static func read(_ bytes: RawSpan, at start: Int) -> (value: (key: LiveCursorKey, cursor: LiveCursor)?, size: Int)? {
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

/// Live cursors that recovery found: of each destination and kind one, the newest.
struct FoundLiveCursors {
    private(set) var cursors: [LiveCursorKey: LiveCursor] = [:]

    /// Of two with the same tag the newer one stays. Of two others it is the one that was added later: whoever has the
    /// other tag finds none, and goes on from the file `cursors`.
    mutating func add(_ key: LiveCursorKey, _ cursor: LiveCursor) {
        if let old = cursors[key], old.tag == cursor.tag, !cursor.isNewer(than: old) { return }
        cursors[key] = cursor
    }

    mutating func add(_ other: FoundLiveCursors) {
        for (key, cursor) in other.cursors { add(key, cursor) }
    }

    /// Adds the entries of a batch of cursors.
    mutating func add(entries bytes: RawSpan) {
        var place = 0
        while let (value, size) = LiveCursorEntry.read(bytes, at: place) {
            if let value { add(value.key, value.cursor) }
            place += size
        }
    }
}
