import Platform

/// Iterates over a segment's batches, starting at any batch, and over the damage between them. Recovery uses it, the
/// search for a position, and a reader that met damage. It is not for the fast path.
struct SegmentWalker {
    enum Step {
        /// A batch whose header is whole. `intact`: the payload is whole too; true if payloads are not verified.
        case batch(BatchHeader, offset: Int, intact: Bool)
        /// There is no header at `offset`. `next`: the offset of the next whole header, or nil if none follows. `used`:
        /// the end of the last byte that is not zero, or `offset` if all bytes are zero.
        case hole(offset: Int, next: Int?, used: Int)
        case end
    }

    /// The bytes of one read: as many as a disk handles in one request, or about one batch if payloads are not
    /// verified.
    private var windowSize: Int { verifying ? 4 << 20 : 256 << 10 }

    let file: any DiskFile
    let seed: ChecksumSeed
    /// The end of the batches.
    let limit: Int
    let verifying: Bool
    private(set) var offset: Int
    private var window: [UInt8] = []
    private var windowStart = 0

    init(_ file: any DiskFile, seed: ChecksumSeed, from offset: Int = 0, limit: Int, verifying: Bool) {
        self.file = file
        self.seed = seed
        self.offset = offset
        self.limit = limit
        self.verifying = verifying
    }

    mutating func next() throws(SystemError) -> Step {
        guard offset < limit else { return .end }
        if let header = try header(at: offset) {
            let here = offset
            offset += header.totalSize
            guard verifying else { return .batch(header, offset: here, intact: true) }
            let whole = try load(here, header.totalSize)
            let intact =
                whole
                && header.payloadIsIntact(in: window.span.raw, headerAt: here - windowStart, seed.at(here))
            return .batch(header, offset: here, intact: intact)
        }
        let hole = offset
        let (next, used) = try search(from: hole)
        offset = next ?? limit
        return .hole(offset: hole, next: next, used: used)
    }

    /// The payload of the batch that `next` returned last. Only if payloads are verified.
    @_lifetime(borrow self)
    func payload(of header: BatchHeader, at offset: Int) -> RawSpan {
        let start = offset - windowStart + BatchHeader.size
        return window.span.raw.extracting(start..<start + Int(header.payloadLength))
    }

    private mutating func header(at place: Int) throws(SystemError) -> BatchHeader? {
        guard place + BatchHeader.size <= limit, try load(place, BatchHeader.size) else { return nil }
        guard let header = BatchHeader(window.span.raw, at: place - windowStart, seed.at(place)),
            header.kind != BatchHeader.Kind.seal, place + header.totalSize <= limit
        else { return nil }
        return header
    }

    /// Searches for a header at every eighth byte.
    private mutating func search(from hole: Int) throws(SystemError) -> (next: Int?, used: Int) {
        var used = hole
        var place = hole
        while place < limit {
            guard try load(place, min(8, limit - place)) else { break }
            let (stop, last, candidate) = Self.scan(
                window.span.raw, from: place - windowStart, to: min(window.count, limit - windowStart),
                notAt: hole - windowStart)
            if let last { used = windowStart + last }
            place = windowStart + stop
            if candidate {
                if try header(at: place) != nil { return (place, used) }
                used = place + 8
                place += 8
            }
        }
        return (nil, used)
    }

    /// Searches word by word for the header magic.
    /// - Returns: where the search stopped, the end of the last byte that is not zero, and whether it stopped at a
    ///   possible header.
    private static func scan(
        _ bytes: RawSpan, from start: Int, to end: Int, notAt hole: Int
    ) -> (stop: Int, used: Int?, candidate: Bool) {
        var place = start
        var used: Int?
        while end - place >= 8 {
            let word = bytes.number(UInt64.self, at: place)
            if word != 0 {
                if UInt32(truncatingIfNeeded: word) == BatchHeader.magic, place != hole { return (place, used, true) }
                used = place + 8
            }
            place += 8
        }
        for byte in place..<end where bytes.number(UInt8.self, at: byte) != 0 { used = byte + 1 }
        return (end, used, false)
    }

    /// Loads the range into the window.
    /// - Returns: false if the file ends before the range does.
    private mutating func load(_ place: Int, _ count: Int) throws(SystemError) -> Bool {
        if place >= windowStart && place + count <= windowStart + window.count { return true }
        window.removeAll(keepingCapacity: true)
        windowStart = place
        let wanted = min(max(count, windowSize), max(limit - place, count))
        return try file.read(wanted, at: place, appendingTo: &window) >= count
    }
}
