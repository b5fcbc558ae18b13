import Glibc
import Platform
import Synchronization
import Telemetry

/// The next segment, made before it is needed: a file `spare` full of zeros, on disk down to its
/// directory entry. A write into it changes no metadata, so that an fdatasync costs one write. When
/// segments go fast, its place is reserved only, and reads as zeros all the same.
/// The keeper makes it, the writer takes it.
final class SpareSegment: Sendable {
    static let name = "spare"
    /// Bytes that are written, and synced, at a time: group commits share the disk with this.
    private static let piece = 4 << 20

    private struct State { var ready = false }

    private let site: JournalSite
    private let quarantine: Quarantine
    private let state = Mutex(State())
    /// Held while one is made: the keeper does, and at the end the writer may. When the last was.
    private let making = Mutex<Instant?>(nil)
    /// Segments that go faster than this are not filled with zeros any more: the disk has better things
    /// to write, and commits are large then, so that what each of them costs more matters little.
    private static let urgency = Duration.seconds(2)

    init(_ site: JournalSite, _ quarantine: Quarantine) {
        self.site = site
        self.quarantine = quarantine
    }

    var isReady: Bool { state.withLock { $0.ready } }

    /// Makes one, unless there is one.
    func prepare() throws(SystemError) {
        try making.withLock { (last) throws(SystemError) in
            guard !isReady else { return }
            let now = site.clock.now()
            let isUrgent = last.map { now - $0 < Self.urgency } ?? false
            last = now
            try make(isUrgent)
        }
    }

    private func make(_ isUrgent: Bool) throws(SystemError) {
        let size = site.options.segmentSize
        let path = site.path(Self.name)
        if let status = try site.disk.status(path) {
            if try Self.holdsData(site) {
                // Perhaps somebody's segment under a wrong name: not to be written over.
                try quarantine.move(path)
                site.telemetry.emit(
                    JournalFile(
                        detail: "\(path) held data and was moved to \(Quarantine.directory)/: is it a segment that was renamed?"))
            } else if status.size == size {
                // It got this name only once it was whole; whether for good is not known.
                try settleName()
                return
            }
        }
        guard try site.disk.freeSpace(site.directory) - size >= site.options.reserve else {
            throw SystemError.outOfSpace("pwrite", path)
        }
        let temporary = path + ".new"
        let file = try site.disk.openDirect(temporary, .createOrReadWrite)
        do throws(SystemError) {
            try file.truncate(to: 0)
            if isUrgent, try reserve(file, size) {
                try publish(temporary, as: path)
                return
            }
            let zeros = AlignedMemory(count: min(Self.piece, size))
            var offset = 0
            while offset < size {
                let count = min(zeros.count, size - offset)
                try file.write(zeros.bytes.extracting(first: count), at: offset)
                if site.options.sync != .never { try site.sync(file, .spareSync) }
                offset += count
            }
            try publish(temporary, as: path)
        } catch {
            // Half a file would hold the space that is lacking.
            try? site.disk.remove(temporary)
            throw error
        }
    }

    /// Whether the spare begins with anything else than zeros.
    static func holdsData(_ site: JournalSite) throws(SystemError) -> Bool {
        var bytes: [UInt8] = []
        let path = site.path(name)
        guard try site.disk.status(path) != nil else { return false }
        _ = try site.disk.open(path, .readOnly).read(4096, at: 0, appendingTo: &bytes)
        return bytes.contains { $0 != 0 }
    }

    /// - Returns: false if the filesystem cannot reserve space without writing it.
    private func reserve(_ file: any DiskFile, _ size: Int) throws(SystemError) -> Bool {
        do throws(SystemError) {
            try file.allocate(size)
        } catch {
            guard error.code == EOPNOTSUPP || error.code == EINVAL else { throw error }
            return false
        }
        try site.sync(file, .spareSync)
        return true
    }

    private func publish(_ temporary: String, as path: String) throws(SystemError) {
        try site.disk.rename(temporary, to: path)
        try settleName()
    }

    /// Before the spare is renamed again: of two changes a power cut may leave the second only, and the file has
    /// two names then.
    private func settleName() throws(SystemError) {
        try site.syncDirectory(site.directory, .spareDirectorySync)
        state.withLock { $0.ready = true }
    }

    /// Gives the spare a segment's name, durably, and adds it to the journal's.
    /// - Returns: nil if there is none ready.
    func take(
        as position: UInt64, into segments: SegmentList
    ) throws(SystemError) -> (segment: Segment, file: any DiskFile)? {
        guard isReady else { return nil }
        // Only now, so that nobody makes another or counts one too few before it is in the list.
        defer { state.withLock { $0.ready = false } }
        let path = site.path(Segment.name(position))
        try site.disk.rename(site.path(Self.name), to: path)
        try site.syncDirectory(site.directory, .segmentDirectorySync)
        let file = try site.disk.openDirect(path, .readWrite)
        let segment = Segment(
            firstPosition: position, path: path, fileSize: site.options.segmentSize, readable: 0, end: position,
            sealed: false)
        segments.append(segment)
        return (segment, file)
    }
}
