import Platform
import Telemetry

/// The file `cursors.live`: slots of 1 KiB, one for each passage. The checksum of a slot starts from the journal's UUID
/// and the slot's number. A slot is written in place and never synced. The page cache survives a kill; after a power
/// cut the file `cursors` and the batches of live cursors in the segments take its place. One thread at a time.
/// Format.md specifies the layout.
struct LiveCursorFile {
    static let name = "cursors.live"
    static let slotSize = 1024
    private static let slotsAtFirst = 4
    private static let headerSize = 16
    private static let magic: UInt32 = 0x4C53_4E50
    private static let limit = 64 << 20

    private let context: JournalContext
    /// nil if it was not created yet.
    private var file: (any DiskFile)?
    /// The file's size in bytes, a whole number of slots, so that the last slot can be read too.
    private var size = 0
    /// A write failed: no more writes before the next start.
    private var isBroken = false

    init(_ context: JournalContext) { self.context = context }

    /// Reads the whole slots of the file; empty if the file does not exist.
    static func read(_ context: JournalContext) throws(SystemError) -> FoundLiveCursors {
        var found = FoundLiveCursors()
        guard let bytes = try JournalContext.contents(context.path(name), limit: limit, context.disk) else {
            return found
        }
        for slot in 0..<bytes.count / slotSize {
            let span = bytes.span.raw.extracting(slot * slotSize..<(slot + 1) * slotSize)
            guard span.number(UInt32.self, at: 0) == magic, span.number(UInt16.self, at: 8) == 1 else { continue }
            let length = Int(span.number(UInt32.self, at: 12))
            guard length <= slotSize - headerSize else { continue }
            let sum = checksum(span.extracting(8..<headerSize + length), slot: slot, context.uuid)
            guard sum == span.number(UInt32.self, at: 4) || !context.protections.contains(.liveChecksum) else {
                continue
            }
            found.add(entries: span.extracting(headerSize..<headerSize + length))
        }
        return found
    }

    /// Replaces the file's contents with the recovered cursors, durably, before a position is assigned again. A slot
    /// that was ignored because it lies above the journal's end would otherwise become valid later: by then its
    /// positions belong to other events. A file that cannot be written is removed.
    mutating func begin(_ entries: [(key: LiveCursorKey, cursor: LiveCursor)]) throws(SystemError) {
        let path = context.path(Self.name)
        guard let status = try context.disk.status(path) else { return }
        do throws(SystemError) {
            var bytes: [UInt8] = []
            for (slot, entry) in entries.enumerated() {
                bytes += encode(entry.key, entry.cursor, slot: slot)
                bytes.append(contentsOf: repeatElement(0, count: (slot + 1) * Self.slotSize - bytes.count))
            }
            let slots = (status.size + Self.slotSize - 1) / Self.slotSize
            let rest = max(0, max(slots, Self.slotsAtFirst) * Self.slotSize - bytes.count)
            bytes.append(contentsOf: repeatElement(0, count: rest))
            let file = try context.disk.open(path, .readWrite)
            try file.write(bytes.span, at: 0)
            try context.sync(file, .liveSync)
            self.file = file
            size = bytes.count
        } catch {
            context.telemetry.emit(JournalLiveCursorsFailed(detail: "\(error)"))
            isBroken = true
            try context.disk.remove(path)
            try context.syncDirectory(context.directory, .liveSync)
        }
    }

    /// Writes one slot. About a microsecond.
    mutating func write(_ key: LiveCursorKey, _ cursor: LiveCursor, slot: Int) {
        guard !isBroken else { return }
        do throws(SystemError) {
            if file == nil { file = try make() }
            var bytes = encode(key, cursor, slot: slot)
            let end = (slot + 1) * Self.slotSize
            if end > size { bytes.append(contentsOf: repeatElement(0, count: Self.slotSize - bytes.count)) }
            try file?.write(bytes.span, at: slot * Self.slotSize)
            size = max(size, end)
        } catch {
            context.telemetry.emit(JournalLiveCursorsFailed(detail: "\(error)"))
            isBroken = true
            file = nil
        }
    }

    /// Creates the file, once in a journal's life. Its zeros are synced, so its blocks hold nothing of an earlier file.
    private mutating func make() throws(SystemError) -> any DiskFile {
        let zeros = [UInt8](repeating: 0, count: Self.slotsAtFirst * Self.slotSize)
        size = zeros.count
        try context.replace(Self.name, with: zeros, .liveSync, .liveSync)
        return try context.disk.open(context.path(Self.name), .readWrite)
    }

    private func encode(_ key: LiveCursorKey, _ cursor: LiveCursor, slot: Int) -> [UInt8] {
        var bytes: [UInt8] = []
        bytes.reserveCapacity(Self.slotSize)
        bytes.append(number: Self.magic)
        bytes.append(number: UInt32(0))
        bytes.append(number: UInt16(1))
        bytes.append(number: UInt16(0))
        bytes.append(number: UInt32(0))
        LiveCursorEntry.append(key, cursor, to: &bytes)
        bytes.replace(number: UInt32(bytes.count - Self.headerSize), at: 12)
        bytes.replace(
            number: Self.checksum(bytes.span.raw.extracting(8..<bytes.count), slot: slot, context.uuid), at: 4)
        // An entry with at most two ranges is padded to 64 bytes.
        bytes.append(contentsOf: repeatElement(0, count: max(0, 64 - bytes.count)))
        return bytes
    }

    private static func checksum(_ bytes: RawSpan, slot: Int, _ uuid: JournalUUID) -> UInt32 {
        var checksum = Checksum()
        checksum.update(uuid.bytes.span.raw)
        checksum.update(UInt64(slot))
        checksum.update(bytes)
        return checksum.value
    }
}
