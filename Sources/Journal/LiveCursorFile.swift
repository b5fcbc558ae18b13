import Platform
import Telemetry

/// The file `cursors.live`: slots of 1 KiB, one for each passage, each with a checksum that begins with the journal's
/// UUID and the slot's number. A slot is written in place and never synced: the page cache outlives a kill, and a
/// power cut takes back at most what the file `cursors` and the batches of cursors in the segments still have. One
/// thread at a time. Format.md has the layout.
struct LiveCursorFile {
    static let name = "cursors.live"
    static let slotSize = 1024
    private static let slotsAtFirst = 4
    private static let headerSize = 16
    private static let magic: UInt32 = 0x4C53_4E50
    private static let limit = 64 << 20

    private let site: JournalSite
    /// nil: there is none yet.
    private var file: (any DiskFile)?
    /// Its bytes: whole slots, so that the last one is read, too.
    private var size = 0
    /// A write failed: nothing more is written before the next start.
    private var isBroken = false

    init(_ site: JournalSite) { self.site = site }

    /// The whole slots of the file; none if there is no file.
    static func read(_ site: JournalSite) throws(SystemError) -> FoundLiveCursors {
        var found = FoundLiveCursors()
        guard let bytes = try JournalSite.contents(site.path(name), limit: limit, site.disk) else { return found }
        for slot in 0..<bytes.count / slotSize {
            let span = bytes.span.raw.extracting(slot * slotSize..<(slot + 1) * slotSize)
            guard span.number(UInt32.self, at: 0) == magic, span.number(UInt16.self, at: 8) == 1 else { continue }
            let length = Int(span.number(UInt32.self, at: 12))
            guard length <= slotSize - headerSize else { continue }
            let sum = checksum(span.extracting(8..<headerSize + length), slot: slot, site.uuid)
            guard sum == span.number(UInt32.self, at: 4) || !site.protections.contains(.liveChecksum) else { continue }
            found.add(entries: span.extracting(headerSize..<headerSize + length))
        }
        return found
    }

    /// Makes what was recovered the file's only contents, durably, before a position is given again. A slot that was
    /// not believed, because it lies above the journal's end, would otherwise be believed later: it names positions
    /// that other events have by then. A file that cannot be written goes.
    mutating func begin(_ entries: [(key: LiveCursorKey, cursor: LiveCursor)]) throws(SystemError) {
        let path = site.path(Self.name)
        guard let status = try site.disk.status(path) else { return }
        do throws(SystemError) {
            var bytes: [UInt8] = []
            for (slot, entry) in entries.enumerated() {
                bytes += encode(entry.key, entry.cursor, slot: slot)
                bytes.append(contentsOf: repeatElement(0, count: (slot + 1) * Self.slotSize - bytes.count))
            }
            let slots = (status.size + Self.slotSize - 1) / Self.slotSize
            let rest = max(0, max(slots, Self.slotsAtFirst) * Self.slotSize - bytes.count)
            bytes.append(contentsOf: repeatElement(0, count: rest))
            let file = try site.disk.open(path, .readWrite)
            try file.write(bytes.span, at: 0)
            try site.sync(file, .liveSync)
            self.file = file
            size = bytes.count
        } catch {
            site.telemetry.emit(JournalLiveCursorsFailed(detail: "\(error)"))
            isBroken = true
            try site.disk.remove(path)
            try site.syncDirectory(site.directory, .liveSync)
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
            site.telemetry.emit(JournalLiveCursorsFailed(detail: "\(error)"))
            isBroken = true
            file = nil
        }
    }

    /// Once in a journal's life. Durable with its zeros, so that its blocks hold nothing of an earlier file.
    private mutating func make() throws(SystemError) -> any DiskFile {
        let zeros = [UInt8](repeating: 0, count: Self.slotsAtFirst * Self.slotSize)
        size = zeros.count
        try site.replace(Self.name, with: zeros, .liveSync, .liveSync)
        return try site.disk.open(site.path(Self.name), .readWrite)
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
        bytes.replace(number: Self.checksum(bytes.span.raw.extracting(8..<bytes.count), slot: slot, site.uuid), at: 4)
        // Without ranges, and with one or two of them, it has 64 bytes.
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
