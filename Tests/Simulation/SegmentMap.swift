/// The places of a segment's batches, found without the journal's code and checksums. After damage it can also
/// contain bytes that only look like a batch.
struct SegmentMap {
    struct Batch {
        var bytes: Range<Int>
        var positions: Range<UInt64>
    }

    private(set) var batches: [Batch] = []

    /// - Parameter segmentSize: of a whole segment, whose last 128 bytes are the seal's. In a file that a power cut has
    ///   cut off (without a sync, its size may not have reached the disk) a batch may end in the last 128 bytes: it was
    ///   written when the file was longer. The journal reads it, and nothing can bring it back once it is damaged.
    init(_ bytes: [UInt8], segmentSize: Int) {
        let limit = bytes.count == segmentSize ? bytes.count - 128 : bytes.count
        var place = 0
        while place + 64 <= limit {
            // Looks at every 8th byte: to follow the lengths would miss the batches after a misplaced one.
            defer { place += 8 }
            guard bytes[place..<place + 4].elementsEqual("PNSB".utf8) else { continue }
            let length = Self.number(bytes, place + 8, 4)
            let count = Self.number(bytes, place + 12, 4)
            let first = Self.number(bytes, place + 16, 8)
            let end = place + 64 + Int(length + 7) / 8 * 8
            guard end <= limit, count < 1 << 20, first < 1 << 40 else { continue }
            batches.append(Batch(bytes: place..<end, positions: first..<first + count))
        }
    }

    /// The positions of the batches that overlap the range.
    func positions(in range: Range<Int>) -> [Range<UInt64>] {
        batches.filter { $0.bytes.overlaps(range) }.map(\.positions)
    }

    private static func number(_ bytes: [UInt8], _ place: Int, _ count: Int) -> UInt64 {
        (0..<count).reversed().reduce(0) { $0 << 8 | UInt64(bytes[place + $1]) }
    }
}
