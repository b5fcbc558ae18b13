import Platform
import Synchronization
import Telemetry

/// What one destination refused for good, on disk until somebody retries or drops it: files in
/// `dead-letters/NAME/`, named by the number of the first letter in them, with the same batches
/// as a segment (kind 2; positions count letters). They grow as they are written, have no seal,
/// and their end is where they end. Any thread.
package final class DeadLetterStore: Sendable {
    static let directory = "dead-letters"
    /// A file that is longer is followed by a new one.
    private static let fileLimit = 16 << 20
    /// A batch takes no more letters once its payload is this long.
    private static let batchLimit = 1 << 20

    private struct State {
        var files: [(first: UInt64, bytes: Int)] = []
        /// The last one, as long as nothing failed on it.
        var file: (any DiskFile)?
        var seed: ChecksumSeed
        var next: UInt64 = 0
        var count = 0
        var bytes: Int { files.reduce(0) { $0 + $1.bytes } }
    }

    private let site: JournalSite
    private let path: String
    private let limit: Atomic<Int>
    private let state: Mutex<State>

    init(_ site: JournalSite, _ quarantine: Quarantine, destination: String, limit: Int) throws(JournalError) {
        self.site = site
        self.limit = Atomic(limit)
        path = site.path(Self.directory) + "/" + DeadLetterFiles.directoryName(of: destination)
        var state = State(seed: site.seed(0))
        do throws(SystemError) {
            try site.disk.makeDirectory(path, permissions: 0o750)
            try site.syncDirectory(site.path(Self.directory), .deadLettersDirectorySync)
            try site.syncDirectory(site.directory, .deadLettersEntrySync)
            let files = try DeadLetterFiles(path, site.uuid, site.disk, site.protections)
            for (index, file) in files.files.enumerated() {
                let following = index + 1 < files.files.count ? files.files[index + 1].first : nil
                try Self.load(file.first, following, files, site, quarantine, &state)
            }
            // One that was made just before a kill may have its name in memory only.
            if state.file != nil { try site.syncDirectory(path, .deadLetterDirectorySync) }
        } catch {
            throw JournalError("open the dead letters", error)
        }
        self.state = Mutex(state)
    }

    private static func load(
        _ first: UInt64, _ following: UInt64?, _ files: DeadLetterFiles, _ site: JournalSite, _ quarantine: Quarantine,
        _ state: inout State
    ) throws(SystemError) {
        let file = try site.disk.open(files.path(first), .readWrite)
        let size = try file.size()
        let (scan, gaps) = try files.scan(file, first, following, size: size)
        for gap in gaps {
            do throws(SystemError) {
                let copy = gap.bytes.isEmpty ? nil : try quarantine.copy(gap.bytes, of: file)
                site.telemetry.emit(DeadLettersDamaged(gap: gap, copy: copy))
            } catch {
                site.telemetry.emit(DeadLettersDamaged(gap: gap, copy: nil))
            }
        }
        state.next = max(state.next, scan.end, gaps.last?.positions.upperBound ?? 0)
        state.count += Int(scan.events)
        state.files.append((first, size))
        state.seed = files.seed(first)
        state.file = file
        if scan.validLength < size {
            // An interrupted write, or damage: nothing is added behind it.
            state.file = nil
            if gaps.isEmpty { site.telemetry.emit(JournalTornTail(path: file.path, length: scan.validLength)) }
        }
    }

    /// Bytes that may be kept from now on; what is there stays.
    package func setLimit(_ bytes: Int) { limit.store(bytes, ordering: .relaxed) }

    /// Adds letters: durable when it returns.
    /// - Throws: `.full`: none was taken, because the bound on bytes is reached; `.io`.
    package func append(_ letters: [DeadLetter]) throws(JournalError) {
        guard !letters.isEmpty else { return }
        try state.withLock { (state) throws(JournalError) in
            let size = letters.reduce(BatchHeader.size) { $0 + $1.encodedSize }
            let limit = limit.load(ordering: .relaxed)
            guard state.bytes + size <= limit else {
                throw JournalError(
                    .full,
                    "dead letters: \(path) holds \(state.bytes) bytes, and may hold \(limit): retry or drop them"
                        + " (penstock dead-letters), or raise the destination's dead_letters")
            }
            do throws(SystemError) {
                try write(letters, &state)
            } catch {
                // Whatever is in that file now, the next letters go to another.
                state.file = nil
                throw JournalError("write dead letters", error)
            }
        }
    }

    private func write(_ letters: [DeadLetter], _ state: inout State) throws(SystemError) {
        if state.file == nil || state.files.last.map({ $0.bytes >= Self.fileLimit }) ?? true { try begin(&state) }
        guard let file = state.file, let last = state.files.last else { return }
        var offset = last.bytes
        var next = state.next
        var index = 0
        while index < letters.count {
            var payload: [UInt8] = []
            let first = index
            while index < letters.count, payload.count < Self.batchLimit {
                letters[index].encode(into: &payload)
                index += 1
            }
            let header = BatchHeader(
                kind: BatchHeader.Kind.deadLetters, payloadLength: UInt32(clamping: payload.count),
                count: UInt32(index - first), firstPosition: next, durablePosition: state.next,
                receivedAt: site.clock.wallClock())
            let bytes = BatchHeader.batch(header, payload: payload, state.seed.at(offset))
            state.files[state.files.count - 1].bytes = offset + bytes.count
            try file.write(bytes.span, at: offset)
            offset += bytes.count
            next += UInt64(index - first)
        }
        try site.sync(file, .deadLetterSync)
        state.count += letters.count
        state.next = next
    }

    private func begin(_ state: inout State) throws(SystemError) {
        // A file in which nothing became durable has the name that is wanted; it gets another.
        if state.files.last?.first == state.next { state.next += 1 }
        let name = path + "/" + Segment.name(state.next)
        state.file = try site.disk.open(name, .createNew)
        state.files.append((state.next, 0))
        state.seed = site.seed(state.next)
        try site.syncDirectory(path, .deadLetterDirectorySync)
    }

    /// How many there are.
    package var count: Int { state.withLock { $0.count } }
    package var bytes: Int { state.withLock { $0.bytes } }

    /// Reads all letters in order. Those appended meanwhile may be among them.
    package func forEach(_ body: (DeadLetter) -> Void) throws(JournalError) {
        try journal("read dead letters") { () throws(SystemError) in
            try DeadLetterFiles(path, site.uuid, site.disk, site.protections).forEach { letter in
                body(letter)
                return true
            }
        }
    }
}
