import Platform
import Synchronization
import Telemetry

/// The next segment, made before it is needed: a file `spare` full of zeros, on disk together with its directory entry.
/// A write into it changes no metadata, so an fdatasync costs one write. When segments fill fast, or the writer waits,
/// the space is only reserved; reserved space reads as zeros too. The keeper makes the spare, the writer takes it.
final class SpareSegment: Sendable {
    static let name = "spare"
    /// Bytes to write and sync at a time: group commits share the disk, and wait behind a piece. A disk that takes long
    /// for each sync gets larger ones, so that it writes zeros at least so many bytes per second.
    private static let pieces = 256 << 10...4 << 20
    private static let rate = 64 << 20

    private struct State { var ready = false }

    private let context: JournalContext
    private let quarantine: Quarantine
    private let state = Mutex(State())
    /// Locked while a spare is made, by the keeper or, at the end, by the writer. Holds the time of the last attempt.
    private let making = Mutex<Instant?>(nil)
    /// If segments fill faster than this, the spare is not filled with zeros: the disk has more important writes, and
    /// commits are then so large that the extra cost of each matters little.
    private static let urgency = Duration.seconds(2)
    /// The writer has asked for a spare in vain, or the journal is to stop.
    private let isAwaited = Atomic(false)

    init(_ context: JournalContext, _ quarantine: Quarantine) {
        self.context = context
        self.quarantine = quarantine
    }

    var isReady: Bool { state.withLock { $0.ready } }

    /// Ends the filling with zeros. Any thread.
    func hurry() { isAwaited.store(true, ordering: .relaxed) }

    /// Makes a spare unless one is ready.
    func prepare() throws(SystemError) {
        try making.withLock { (last) throws(SystemError) in
            guard !isReady else { return }
            let now = context.clock.now()
            let isUrgent = last.map { now - $0 < Self.urgency } ?? false
            last = now
            try make(isUrgent)
        }
    }

    private func make(_ isUrgent: Bool) throws(SystemError) {
        let size = context.options.segmentSize
        let path = context.path(Self.name)
        if let status = try context.disk.status(path) {
            if try Self.holdsData(context) {
                // Perhaps this is a segment that somebody renamed: do not overwrite it.
                try quarantine.move(path)
                context.telemetry.emit(
                    JournalFile(
                        detail: "\(path) held data and was moved to \(Quarantine.directory)/:"
                            + " check whether it is a renamed segment"))
            } else if status.size == size {
                // The file was whole before it got this name, but the rename may not be durable.
                try settleName()
                return
            }
        }
        guard try context.disk.freeSpace(context.directory) - size >= context.options.reserve else {
            throw SystemError.outOfSpace("pwrite", path)
        }
        let temporary = path + ".new"
        let file = try context.disk.openDirect(temporary, .createOrReadWrite)
        do throws(SystemError) {
            try file.truncate(to: 0)
            let filled = isUrgent ? 0 : try fill(file, 0..<size, whileAwaited: false)
            if filled < size, try !reserve(file, size) { _ = try fill(file, filled..<size, whileAwaited: true) }
            try publish(temporary, as: path)
        } catch {
            // A partial file would use the space that is lacking.
            try? context.disk.remove(temporary)
            throw error
        }
    }

    /// Writes zeros.
    /// - Parameter whileAwaited: false: it ends early when the writer waits for the file.
    /// - Returns: the end of the zeros.
    private func fill(_ file: any DiskFile, _ range: Range<Int>, whileAwaited: Bool) throws(SystemError) -> Int {
        let zeros = AlignedMemory(count: min(Self.pieces.upperBound, range.count))
        var piece = Self.pieces.lowerBound
        var offset = range.lowerBound
        while offset < range.upperBound, whileAwaited || !isAwaited.load(ordering: .relaxed) {
            let began = context.clock.now()
            let count = min(piece, zeros.count, range.upperBound - offset)
            try file.write(zeros.bytes.extracting(first: count), at: offset)
            if context.options.sync != .never { try context.sync(file, .spareSync) }
            offset += count
            let isSlow = context.clock.now() - began > .seconds(1) * count / Self.rate
            piece = isSlow ? min(piece * 2, Self.pieces.upperBound) : max(piece / 2, Self.pieces.lowerBound)
        }
        return offset
    }

    /// Whether the first 4 KiB of the spare contain anything but zeros.
    static func holdsData(_ context: JournalContext) throws(SystemError) -> Bool {
        var bytes: [UInt8] = []
        let path = context.path(name)
        guard try context.disk.status(path) != nil else { return false }
        _ = try context.disk.open(path, .readOnly).read(4096, at: 0, appendingTo: &bytes)
        return bytes.contains { $0 != 0 }
    }

    /// - Returns: false if the filesystem cannot reserve space without writing.
    private func reserve(_ file: any DiskFile, _ size: Int) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try file.allocate(size)
        } catch {
            guard error.isUnsupported else { throw error }
            return false
        }
        try context.sync(file, .spareSync)
        return true
    }

    private func publish(_ temporary: String, as path: String) throws(SystemError) {
        try context.disk.rename(temporary, to: path)
        try settleName()
    }

    /// Makes the name durable before the spare is renamed again: of two renames a power cut may keep only the second,
    /// and then the file has two names.
    private func settleName() throws(SystemError) {
        try context.syncDirectory(context.directory, .spareDirectorySync)
        state.withLock { $0.ready = true }
    }

    /// Renames the spare to a segment, durably, and adds it to the list.
    /// - Returns: nil if no spare is ready.
    func take(
        as position: UInt64, into segments: SegmentList
    ) throws(SystemError) -> (segment: Segment, file: any DiskFile)? {
        guard isReady else {
            hurry()
            return nil
        }
        isAwaited.store(false, ordering: .relaxed)
        // Set last: before the segment is in the list, nobody may make another spare or count one file too few.
        defer { state.withLock { $0.ready = false } }
        let path = context.path(Segment.name(position))
        try context.disk.rename(context.path(Self.name), to: path)
        try context.syncDirectory(context.directory, .segmentDirectorySync)
        let file = try context.disk.openDirect(path, .readWrite)
        let segment = Segment(
            firstPosition: position, path: path, fileSize: context.options.segmentSize, readable: 0, end: position,
            sealed: false)
        segments.append(segment)
        return (segment, file)
    }
}
