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
/// A slot is half of the file; generation g lies in slot g mod 2. It also keeps the durable end: everything below
/// was durable when the slot was written, so that what is missing there is damage and no interrupted write.
/// Format.md has the layout.
struct CursorFile {
    /// What one slot holds.
    struct Slot: Equatable {
        var generation: UInt64 = 0
        var cursors: [String: JournalCursor] = [:]
        var durableEnd: UInt64 = 0
    }

    /// What the two halves of a file are.
    struct Contents {
        /// By number; nil: not whole.
        var slots: [Slot?] = []
        var states: [JournalInspection.CursorSlot.State] = []
        var hasDamagedSlot: Bool { states.contains(.damaged) }
        var latest: Slot? { slots.compactMap(\.self).max { $0.generation < $1.generation } }
    }

    static let name = "cursors"
    /// Behind a destination's name: the cursor of the replay that is under way to it.
    static let replayMark = "\nreplay"
    private static let magic: UInt32 = 0x4353_4E50
    private static let headerSize = 32
    private static let limit = 256 << 20

    private let site: JournalSite
    /// nil: the next write makes a new file.
    private var file: (any DiskFile)?
    private var slotSize = 0
    private var generation: UInt64 = 0

    init(_ site: JournalSite) { self.site = site }

    /// - Returns: nil if there is no file.
    static func read(_ site: JournalSite) throws(SystemError) -> Contents? {
        try JournalSite.contents(site.path(name), limit: limit, site.disk).map { contents(of: $0, site) }
    }

    private static func contents(of bytes: [UInt8], _ site: JournalSite) -> Contents {
        let half = bytes.count / 2
        var contents = Contents()
        for number in 0..<2 {
            let range = number * half..<(number + 1) * half
            let slot = decode(bytes.span.raw.extracting(range), slot: number, site.uuid, site.protections)
            contents.slots.append(slot)
            // A file that was written once has one slot of zeros.
            let isEmpty = half > 0 && bytes[range].allSatisfy { $0 == 0 }
            contents.states.append(slot != nil ? .whole : isEmpty ? .empty : .damaged)
        }
        return contents
    }

    /// Reads the file. The first write afterwards makes a new one.
    ///
    /// The latest slot may be in the page cache only, where a kill or a failed sync has left it. Then the other slot is
    /// the only one on disk, and a write in its place would put both at risk.
    /// - Returns: nil if there is none.
    mutating func load() throws(SystemError) -> Contents? {
        guard let contents = try Self.read(site) else { return nil }
        if let latest = contents.latest {
            generation = latest.generation
            guard !site.protections.contains(.freshCursorFile) else { return contents }
            let file = try site.disk.open(site.path(Self.name), .readWrite)
            slotSize = try file.size() / 2
            self.file = file
        }
        return contents
    }

    /// Durable when it returns. After an error the next write goes to a new file.
    mutating func write(_ cursors: [String: JournalCursor], durableEnd: UInt64) throws(SystemError) {
        var payload = Self.payload(cursors)
        payload.append(number: durableEnd)
        generation &+= 1
        if file == nil {
            do throws(SystemError) { return try replace(payload, cursors.count) } catch {
                // On a filesystem that is full the old file has to do.
                guard error.isOutOfSpace, try takeOver(needed: Self.headerSize + payload.count) else { throw error }
            }
        }
        if let file, Self.headerSize + payload.count <= slotSize {
            let slot = site.protections.contains(.alternateSlots) ? Int(generation % 2) : 0
            do throws(SystemError) {
                try file.write(encode(payload, cursors.count, slot: slot, generation).span, at: slot * slotSize)
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

    /// Goes on with the file that is there. Its newer slot may be in the page cache only: all of it is written once more,
    /// so that one slot is whole on the disk, whatever becomes of the other one.
    /// - Returns: false if there is none, it is too small, or no slot in it is whole.
    private mutating func takeOver(needed: Int) throws(SystemError) -> Bool {
        let path = site.path(Self.name)
        guard let bytes = try JournalSite.contents(path, limit: Self.limit, site.disk), bytes.count / 2 >= needed,
            let latest = Self.contents(of: bytes, site).latest
        else { return false }
        // Attempts that failed have counted, too: the slot that is written next must not be the whole one.
        if generation % 2 == latest.generation % 2 { generation &+= 1 }
        let old = try site.disk.open(path, .readWrite)
        try old.write(bytes.span, at: 0)
        try site.sync(old, .cursorFileSync)
        slotSize = bytes.count / 2
        file = old
        return true
    }

    private mutating func replace(_ payload: [UInt8], _ count: Int) throws(SystemError) {
        // Room to grow, and no smaller than a page, so that slots do not share one.
        var size = 4096
        while size < 2 * (Self.headerSize + payload.count) { size *= 2 }
        var bytes = [UInt8](repeating: 0, count: 2 * size)
        // In both slots, so that one of them may be damaged before the next write, too.
        for generation in [generation &- 1, generation] {
            let slot = Int(generation % 2)
            let encoded = encode(payload, count, slot: slot, generation)
            bytes.replaceSubrange(slot * size..<slot * size + encoded.count, with: encoded)
        }
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

    private func encode(_ payload: [UInt8], _ count: Int, slot: Int, _ generation: UInt64) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.append(number: Self.magic)
        bytes.append(number: UInt16(1))
        bytes.append(number: UInt16(0))
        bytes.append(number: generation)
        bytes.append(number: UInt32(clamping: payload.count))
        bytes.append(number: UInt32(clamping: count))
        bytes.append(number: UInt32(0))
        bytes.append(number: Self.checksum(bytes.span.raw, payload.span.raw, slot: slot, site.uuid))
        return bytes + payload
    }

    private static func checksum(_ head: RawSpan, _ payload: RawSpan, slot: Int, _ uuid: JournalUUID) -> UInt32 {
        var checksum = Checksum()
        checksum.update(uuid.bytes.span.raw)
        checksum.update(UInt64(slot))
        checksum.update(head)
        checksum.update(payload)
        return checksum.value
    }

    private static func decode(
        _ bytes: RawSpan, slot: Int, _ uuid: JournalUUID, _ protections: Protections
    ) -> Slot? {
        guard bytes.byteCount >= headerSize, bytes.number(UInt32.self, at: 0) == magic,
            bytes.number(UInt16.self, at: 4) == 1
        else { return nil }
        let length = Int(bytes.number(UInt32.self, at: 16))
        guard length <= bytes.byteCount - headerSize else { return nil }
        let payload = bytes.extracting(headerSize..<headerSize + length)
        guard checksum(bytes.extracting(0..<28), payload, slot: slot, uuid) == bytes.number(UInt32.self, at: 28)
            || !protections.contains(.cursorChecksum)
        else { return nil }
        var found = Slot(generation: bytes.number(UInt64.self, at: 8))
        var place = 0
        for _ in 0..<bytes.number(UInt32.self, at: 20) {
            guard payload.byteCount - place >= 12 else { return nil }
            let position = payload.number(UInt64.self, at: place)
            let name = Int(payload.number(UInt16.self, at: place + 8))
            let state = Int(payload.number(UInt16.self, at: place + 10))
            place += 12
            guard payload.byteCount - place >= name + state else { return nil }
            let text = String(decoding: payload.array(place..<place + name), as: UTF8.self)
            found.cursors[text] = JournalCursor(
                position: position, state: payload.array(place + name..<place + name + state))
            place += name + state
        }
        // Early files do not have it.
        if payload.byteCount - place >= 8 { found.durableEnd = payload.number(UInt64.self, at: place) }
        return found
    }
}
