import Platform

/// A destination's progress, as stored across restarts.
package struct JournalCursor: Sendable, Equatable {
    /// Every event below is settled.
    package var position: UInt64
    /// The destination's own state; at most `stateLimit` bytes.
    package var state: [UInt8]

    package static let stateLimit = 4096

    package init(position: UInt64, state: [UInt8] = []) {
        self.position = position
        self.state = state
    }
}

/// The file `cursors`: two slots of the same size, written alternately, so that a torn write leaves the other slot
/// whole. One thread at a time.
///
/// Each slot is half of the file. Generation g lies in slot g mod 2. A slot also stores the durable end: everything
/// below it was durable when the slot was written, so positions missing there were damaged and not interrupted.
/// Format.md specifies the layout.
struct CursorFile {
    /// The contents of one slot.
    struct Slot: Equatable {
        var generation: UInt64 = 0
        var cursors: [String: JournalCursor] = [:]
        var durableEnd: UInt64 = 0
    }

    /// The contents of both slots.
    struct Contents {
        /// By slot number; nil if the slot is not whole.
        var slots: [Slot?] = []
        var states: [JournalInspection.CursorSlot.State] = []
        var hasDamagedSlot: Bool { states.contains(.damaged) }
        var latest: Slot? { slots.compactMap(\.self).max { $0.generation < $1.generation } }
    }

    static let name = "cursors"
    /// Follows a destination's name: this cursor belongs to the destination's replay.
    static let replayMark = "\nreplay"
    /// Follows a destination's name: its store is not verified yet (UnverifiedStores).
    static let unverifiedMark = "\nunverified"
    private static let magic: UInt32 = 0x4353_4E50
    private static let headerSize = 32
    private static let limit = 256 << 20

    private let context: JournalContext
    /// nil if the next write makes a new file.
    private var file: (any DiskFile)?
    private var slotSize = 0
    private var generation: UInt64 = 0

    init(_ context: JournalContext) { self.context = context }

    /// - Returns: nil if the file does not exist.
    static func read(_ context: JournalContext) throws(SystemError) -> Contents? {
        try JournalContext.contents(context.path(name), limit: limit, context.disk).map { contents(of: $0, context) }
    }

    private static func contents(of bytes: [UInt8], _ context: JournalContext) -> Contents {
        let half = bytes.count / 2
        var contents = Contents()
        for number in 0..<2 {
            let range = number * half..<(number + 1) * half
            let slot = decode(bytes.span.raw.extracting(range), slot: number, context.uuid, context.protections)
            contents.slots.append(slot)
            // A file that was written only once may have one slot of zeros.
            let isEmpty = half > 0 && bytes[range].allSatisfy { $0 == 0 }
            contents.states.append(slot != nil ? .whole : isEmpty ? .empty : .damaged)
        }
        return contents
    }

    /// Reads the file. The first write afterwards makes a new file.
    ///
    /// The latest slot may be in the page cache only, after a kill or a failed sync. Then the other slot is the only
    /// one on disk, and overwriting it would put both at risk.
    /// - Returns: nil if the file does not exist.
    mutating func load() throws(SystemError) -> Contents? {
        guard let contents = try Self.read(context) else { return nil }
        if let latest = contents.latest {
            generation = latest.generation
            guard !context.protections.contains(.freshCursorFile) else { return contents }
            let file = try context.disk.open(context.path(Self.name), .readWrite)
            slotSize = try file.size() / 2
            self.file = file
        }
        return contents
    }

    /// Writes the cursors; they are durable when it returns. After an error the next write makes a new file.
    mutating func write(_ cursors: [String: JournalCursor], durableEnd: UInt64) throws(SystemError) {
        var payload = Self.payload(cursors)
        payload.append(number: durableEnd)
        generation &+= 1
        if file == nil {
            do throws(SystemError) { return try replace(payload, cursors.count) } catch {
                // On a full filesystem, reuse the old file.
                guard error.isOutOfSpace, try takeOver(needed: Self.headerSize + payload.count) else { throw error }
            }
        }
        if let file, Self.headerSize + payload.count <= slotSize {
            let slot = context.protections.contains(.alternateSlots) ? Int(generation % 2) : 0
            do throws(SystemError) {
                try file.write(encode(payload, cursors.count, slot: slot, generation).span, at: slot * slotSize)
                try context.sync(file, .cursorSync)
            } catch {
                // The state of this descriptor is unknown now.
                self.file = nil
                throw error
            }
        } else {
            try replace(payload, cursors.count)
        }
    }

    /// Continues with the existing file. Its newer slot may be in the page cache only, so the whole file is written
    /// again: then one slot is whole on disk, whatever happens to the other. Its name may not be on disk either: the
    /// attempt that made it may have failed at the sync of the directory.
    /// - Returns: false if there is no file, it is too small, or no slot in it is whole.
    private mutating func takeOver(needed: Int) throws(SystemError) -> Bool {
        let path = context.path(Self.name)
        guard let bytes = try JournalContext.contents(path, limit: Self.limit, context.disk), bytes.count / 2 >= needed,
            let latest = Self.contents(of: bytes, context).latest
        else { return false }
        // Failed attempts have advanced the generation too. The next write must not overwrite the whole slot.
        if generation % 2 == latest.generation % 2 { generation &+= 1 }
        let old = try context.disk.open(path, .readWrite)
        try old.write(bytes.span, at: 0)
        try context.sync(old, .cursorFileSync)
        try context.syncDirectory(context.directory, .cursorDirectorySync)
        slotSize = bytes.count / 2
        file = old
        return true
    }

    private mutating func replace(_ payload: [UInt8], _ count: Int) throws(SystemError) {
        // Leaves room to grow. A slot has at least 4 KiB, so that two slots never share a page.
        var size = 4096
        while size < 2 * (Self.headerSize + payload.count) { size *= 2 }
        var bytes = [UInt8](repeating: 0, count: 2 * size)
        // Both slots get the same cursors, so one of them may be damaged before the next write.
        for generation in [generation &- 1, generation] {
            let slot = Int(generation % 2)
            let encoded = encode(payload, count, slot: slot, generation)
            bytes.replaceSubrange(slot * size..<slot * size + encoded.count, with: encoded)
        }
        file = nil
        try context.replace(Self.name, with: bytes, .cursorFileSync, .cursorDirectorySync)
        file = try context.disk.open(context.path(Self.name), .readWrite)
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
        bytes.append(number: Self.checksum(bytes.span.raw, payload.span.raw, slot: slot, context.uuid))
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
        guard
            checksum(bytes.extracting(0..<28), payload, slot: slot, uuid) == bytes.number(UInt32.self, at: 28)
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
        // Early files have no durable end.
        if payload.byteCount - place >= 8 { found.durableEnd = payload.number(UInt64.self, at: place) }
        return found
    }
}
