import Platform

/// How far a destination is, as it is kept across restarts.
package struct JournalCursor: Sendable, Equatable {
    /// Everything below is settled.
    package var position: UInt64
    /// The destination's own; at most `stateLimit` bytes.
    package var state: [UInt8]

    package static let stateLimit = 4096

    package init(position: UInt64, state: [UInt8] = []) {
        self.position = position
        self.state = state
    }
}

/// The file `cursors`: two slots of the same size, written in turn, so that a torn write leaves the
/// other one whole. One thread at a time.
///
/// A slot is half of the file. It begins with 32 bytes: magic "PNSC" (u32), version 1 (u16), 0 (u16),
/// generation (u64), payload length (u32), number of cursors (u32), 0 (u32), CRC32C (u32) of UUID,
/// slot number (u64; 0 or 1), the 28 bytes before the checksum, and payload. Then each cursor:
/// position (u64), name length (u16), state length (u16), name, state. Generation g lies in slot
/// g mod 2; the whole slot of the higher generation counts.
struct CursorFile {
    static let name = "cursors"
    private static let magic: UInt32 = 0x4353_4E50
    private static let headerSize = 32
    private static let limit = 256 << 20

    private let site: JournalSite
    /// nil: the next write makes a new file.
    private var file: (any DiskFile)?
    private var slotSize = 0
    private var generation: UInt64 = 0

    init(_ site: JournalSite) { self.site = site }

    /// - Returns: what was durable last; nil if there is no file, or no slot in it is whole.
    mutating func load() throws(SystemError) -> [String: JournalCursor]? {
        let path = site.path(Self.name)
        guard let bytes = try JournalSite.contents(path, limit: Self.limit, site.disk) else { return nil }
        let half = bytes.count / 2
        var best: (generation: UInt64, cursors: [String: JournalCursor])?
        for slot in 0..<2 {
            let span = bytes.span.raw.extracting(slot * half..<(slot + 1) * half)
            guard let found = decode(span, slot: slot), found.generation >= best?.generation ?? 0 else { continue }
            best = found
        }
        guard let best else { return nil }
        generation = best.generation
        slotSize = half
        file = try site.disk.open(path, .readWrite)
        return best.cursors
    }

    /// Durable when it returns. After an error the next write goes to a new file.
    mutating func write(_ cursors: [String: JournalCursor]) throws(SystemError) {
        let payload = Self.payload(cursors)
        generation += 1
        if let file, Self.headerSize + payload.count <= slotSize {
            let slot = site.protections.contains(.alternateSlots) ? Int(generation % 2) : 0
            do throws(SystemError) {
                try file.write(encode(payload, cursors.count, slot: slot).span, at: slot * slotSize)
                try site.sync(file, .cursorSync)
            } catch {
                // Nothing is known about this descriptor any more.
                self.file = nil
                throw error
            }
        } else {
            try replace(payload, cursors.count)
        }
    }

    private mutating func replace(_ payload: [UInt8], _ count: Int) throws(SystemError) {
        // Room to grow, and no smaller than a page, so that slots do not share one.
        var size = 4096
        while size < 2 * (Self.headerSize + payload.count) { size *= 2 }
        var bytes = [UInt8](repeating: 0, count: 2 * size)
        let slot = Int(generation % 2)
        bytes.replaceSubrange(slot * size..<slot * size + Self.headerSize + payload.count, with: encode(payload, count, slot: slot))
        file = nil
        try site.replace(Self.name, with: bytes, .cursorFileSync, .cursorDirectorySync)
        file = try site.disk.open(site.path(Self.name), .readWrite)
        slotSize = size
    }

    private static func payload(_ cursors: [String: JournalCursor]) -> [UInt8] {
        var payload: [UInt8] = []
        for (name, cursor) in cursors.sorted(by: { $0.key < $1.key }) {
            payload.append(number: cursor.position)
            payload.append(number: UInt16(clamping: name.utf8.count))
            payload.append(number: UInt16(clamping: cursor.state.count))
            payload.append(contentsOf: name.utf8.prefix(Int(UInt16.max)))
            payload.append(contentsOf: cursor.state.prefix(Int(UInt16.max)))
        }
        return payload
    }

    private func encode(_ payload: [UInt8], _ count: Int, slot: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(number: Self.magic)
        bytes.append(number: UInt16(1))
        bytes.append(number: UInt16(0))
        bytes.append(number: generation)
        bytes.append(number: UInt32(clamping: payload.count))
        bytes.append(number: UInt32(clamping: count))
        bytes.append(number: UInt32(0))
        bytes.append(number: checksum(bytes.span.raw, payload.span.raw, slot: slot))
        return bytes + payload
    }

    private func checksum(_ head: RawSpan, _ payload: RawSpan, slot: Int) -> UInt32 {
        var checksum = Checksum()
        checksum.update(site.uuid.bytes.span.raw)
        checksum.update(UInt64(slot))
        checksum.update(head)
        checksum.update(payload)
        return checksum.value
    }

    private func decode(_ bytes: RawSpan, slot: Int) -> (generation: UInt64, cursors: [String: JournalCursor])? {
        guard bytes.byteCount >= Self.headerSize, bytes.number(UInt32.self, at: 0) == Self.magic,
            bytes.number(UInt16.self, at: 4) == 1
        else { return nil }
        let length = Int(bytes.number(UInt32.self, at: 16))
        guard length <= bytes.byteCount - Self.headerSize else { return nil }
        let payload = bytes.extracting(Self.headerSize..<Self.headerSize + length)
        guard checksum(bytes.extracting(0..<28), payload, slot: slot) == bytes.number(UInt32.self, at: 28)
            || !site.protections.contains(.cursorChecksum)
        else { return nil }
        var cursors: [String: JournalCursor] = [:]
        var place = 0
        for _ in 0..<bytes.number(UInt32.self, at: 20) {
            guard payload.byteCount - place >= 12 else { return nil }
            let position = payload.number(UInt64.self, at: place)
            let name = Int(payload.number(UInt16.self, at: place + 8))
            let state = Int(payload.number(UInt16.self, at: place + 10))
            place += 12
            guard payload.byteCount - place >= name + state else { return nil }
            let text = String(decoding: payload.array(place..<place + name), as: UTF8.self)
            cursors[text] = JournalCursor(position: position, state: payload.array(place + name..<place + name + state))
            place += name + state
        }
        return (bytes.number(UInt64.self, at: 8), cursors)
    }
}
