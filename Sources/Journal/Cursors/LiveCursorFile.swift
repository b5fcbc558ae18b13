import Platform
import Telemetry

/// The file `cursors.live.N`: slots of 1 KiB, one for each passage. The checksum of a slot starts from the journal's
/// UUID, the file's number N and the slot's number. A slot is written in place and never synced. The page cache
/// survives a kill; after a power cut the file `cursors` and the batches of live cursors in the segments take its
/// place. One thread at a time. Format.md specifies the layout.
///
/// Each start of the journal begins a file with the next number. A power cut can take events whose positions are then
/// assigned again; a sector that was written before and that the disk shows again must not pass those positions.
struct LiveCursorFile {
    static let slotSize = 1024
    private static let prefix = "cursors.live"
    private static let slotsAtFirst = 4
    private static let headerSize = 16
    private static let magic: UInt32 = 0x4C53_4E50
    private static let limit = 64 << 20

    private let context: JournalContext
    /// The files that were there at the start, in ascending order. A crash can leave two: the last one is valid.
    private let found: [UInt64]
    /// The number of this start's file.
    private let number: UInt64
    /// nil if it was not created yet.
    private var file: (any DiskFile)?
    /// The file's size in bytes, a whole number of slots, so that the last slot can be read too.
    private var size = 0
    /// A write failed: no more writes before the next start.
    private var isBroken = false

    /// - Parameter names: the files in the journal's directory.
    init(_ context: JournalContext, names: [String]) {
        self.context = context
        found = names.compactMap(Self.number(ofName:)).sorted()
        number = (found.last ?? 0) + 1
    }

    /// Early journals have a file without a number; it counts as number 0.
    static func name(_ number: UInt64) -> String { number == 0 ? prefix : "\(prefix).\(number)" }

    /// - Returns: nil if no file of live cursors has this name.
    static func number(ofName name: String) -> UInt64? {
        if name == prefix { return 0 }
        guard name.hasPrefix(prefix + "."), let number = UInt64(name.dropFirst(prefix.utf8.count + 1)),
            number > 0, number < .max, Self.name(number) == name
        else { return nil }
        return number
    }

    /// Reads the whole slots of the last file; empty if there is none.
    func read() throws(SystemError) -> FoundLiveCursors {
        var cursors = FoundLiveCursors()
        guard let last = found.last,
            let bytes = try JournalContext.contents(context.path(Self.name(last)), limit: Self.limit, context.disk)
        else { return cursors }
        for slot in 0..<bytes.count / Self.slotSize {
            let span = bytes.span.raw.extracting(slot * Self.slotSize..<(slot + 1) * Self.slotSize)
            guard span.number(UInt32.self, at: 0) == Self.magic, span.number(UInt16.self, at: 8) == 1 else { continue }
            let length = Int(span.number(UInt32.self, at: 12))
            guard length <= Self.slotSize - Self.headerSize else { continue }
            let sum = checksum(span.extracting(8..<Self.headerSize + length), slot: slot, of: last)
            guard sum == span.number(UInt32.self, at: 4) || !context.protections.contains(.liveChecksum) else {
                continue
            }
            cursors.add(entries: span.extracting(Self.headerSize..<Self.headerSize + length))
        }
        return cursors
    }

    /// Writes the recovered cursors to this start's file and removes the earlier one, durably, before a position is
    /// assigned again. A slot that was ignored because it lies above the journal's end would otherwise become valid
    /// later: by then its positions belong to other events. If no file can be written, none is left.
    mutating func begin(_ entries: [(key: LiveCursorKey, cursor: LiveCursor)]) throws(SystemError) {
        guard let last = found.last else { return }
        var bytes: [UInt8] = []
        for (slot, entry) in entries.enumerated() {
            bytes += encode(entry.key, entry.cursor, slot: slot)
            bytes.append(contentsOf: repeatElement(0, count: (slot + 1) * Self.slotSize - bytes.count))
        }
        do throws(SystemError) {
            do throws(SystemError) { try make(bytes) } catch {
                guard error.isOutOfSpace else { throw error }
                try takeOver(Self.name(last), bytes)
            }
            // One that stays does no harm: only the highest number counts, and the next start removes it.
            for number in found { try? context.disk.remove(context.path(Self.name(number))) }
        } catch {
            context.telemetry.emit(JournalLiveCursorsFailed(detail: "\(error)"))
            isBroken = true
            file = nil
            for path in (found + [number]).map({ context.path(Self.name($0)) })
            where try context.disk.status(path) != nil {
                try context.disk.remove(path)
            }
        }
        try context.syncDirectory(context.directory, .liveSync)
    }

    /// Writes one slot. About a microsecond.
    mutating func write(_ key: LiveCursorKey, _ cursor: LiveCursor, slot: Int) {
        guard !isBroken else { return }
        do throws(SystemError) {
            if file == nil { try make([]) }
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

    /// Makes this start's file. It has its name when it is whole, for a kill. It needs no sync: what a power cut leaves
    /// in its blocks has another checksum.
    private mutating func make(_ bytes: [UInt8]) throws(SystemError) {
        let temporary = context.path(Self.prefix + ".new")
        let made = try context.disk.open(temporary, .createOrReadWrite)
        try made.truncate(to: 0)
        let rest = max(0, Self.slotsAtFirst * Self.slotSize - bytes.count)
        let contents = bytes + repeatElement(0, count: rest)
        try made.write(contents.span, at: 0)
        try context.disk.rename(temporary, to: context.path(Self.name(number)))
        file = made
        size = contents.count
    }

    /// Makes this start's file out of an existing one, for a full filesystem. A kill in the middle leaves slots that
    /// are ignored.
    private mutating func takeOver(_ name: String, _ bytes: [UInt8]) throws(SystemError) {
        let old = try context.disk.open(context.path(name), .readWrite)
        try old.write(bytes.span, at: 0)
        try old.truncate(to: bytes.count)
        try context.disk.rename(context.path(name), to: context.path(Self.name(number)))
        file = old
        size = bytes.count
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
            number: checksum(bytes.span.raw.extracting(8..<bytes.count), slot: slot, of: number), at: 4)
        // An entry with at most two ranges is padded to 64 bytes.
        bytes.append(contentsOf: repeatElement(0, count: max(0, 64 - bytes.count)))
        return bytes
    }

    private func checksum(_ bytes: RawSpan, slot: Int, of number: UInt64) -> UInt32 {
        var checksum = Checksum()
        checksum.update(context.uuid.bytes.span.raw)
        if number > 0, context.protections.contains(.liveNumber) { checksum.update(number) }
        checksum.update(UInt64(slot))
        checksum.update(bytes)
        return checksum.value
    }
}
