import Platform
import Synchronization
import Telemetry

/// What one destination refused for good, on disk until somebody retries or drops it: files in
/// `dead-letters/NAME/`, named by the number of the first letter in them, with the same batches
/// as a segment (kind 2; positions count letters). They grow as they are written, have no seal,
/// and their end is where they end. Letters that go are noted (RemovedLetters), and a file goes when all of its
/// letters are gone. Any thread.
package final class DeadLetterStore: Sendable {
    static let directory = "dead-letters"
    /// A file that is longer is followed by a new one.
    private static let fileLimit = 16 << 20
    /// A batch takes no more letters once its payload is this long.
    private static let batchLimit = 1 << 20

    /// So that letters do not outlive their time for the sake of younger ones in the same file.
    private static let longestFile = Duration.seconds(86_400)

    /// What may be kept.
    package struct Limits: Sendable, Equatable {
        package var bytes: Int
        /// How long; nil: for ever. A file goes when the youngest letter in it is older.
        package var time: Duration?
        /// What happens when `bytes` are reached: the oldest letters go, or no more are taken.
        package var dropsOldest: Bool

        package init(bytes: Int, time: Duration? = nil, dropsOldest: Bool = false) {
            self.bytes = bytes
            self.time = time
            self.dropsOldest = dropsOldest
        }
    }

    private struct File {
        var first: UInt64
        var bytes = 0
        /// Numbers of the letters that are whole in it; some may be noted as gone.
        var numbers = RangeSet<UInt64>()
        var hasLetters: Bool { !numbers.isEmpty }
        /// When its first and last letters were stored, in nanoseconds since 1970-01-01 UTC.
        var earliest = Int64.max
        var latest = Int64.min
    }

    private struct State {
        var files: [File] = []
        /// The last one, as long as nothing failed on it.
        var file: (any DiskFile)?
        var seed: ChecksumSeed
        /// The number that the next letter gets.
        var next: UInt64 = 0
        var removed = RemovedLetters()
        /// Letters that went for the sake of the limits.
        var expired: UInt64 = 0
        /// Letters that are there.
        private(set) var count: UInt64 = 0
        var bytes: Int { files.reduce(0) { $0 + $1.bytes } }

        /// Letters of a file that are there. What was in a file that is gone does not count against its neighbor's.
        func count(_ index: Int) -> UInt64 { removed.countOfOthers(in: files[index].numbers) }

        mutating func recount() { count = files.indices.reduce(0) { $0 + count($1) } }
    }

    private let site: JournalSite
    private let path: String
    private let limits: Mutex<Limits>
    private let state: Mutex<State>

    /// What the status shows, apart: whoever asks for it must not wait for the disk.
    private struct Shown {
        var count: UInt64 = 0
        var expired: UInt64 = 0
        var bytes = 0
    }

    private let shown = Mutex(Shown())

    init(_ site: JournalSite, _ quarantine: Quarantine, destination: String, limit: Int) throws(JournalError) {
        self.site = site
        limits = Mutex(Limits(bytes: limit))
        path = site.path(Self.directory) + "/" + DeadLetterFiles.directoryName(of: destination)
        var state = State(seed: site.seed(0))
        do throws(SystemError) {
            try site.disk.makeDirectory(path, permissions: 0o750)
            try site.syncDirectory(site.path(Self.directory), .deadLettersDirectorySync)
            try site.syncDirectory(site.directory, .deadLettersEntrySync)
            let files = try DeadLetterFiles(path, site.uuid, site.disk, site.protections)
            state.removed = files.removed
            if files.removed.isDamaged { site.telemetry.emit(RemovedLettersDamaged(path: path + "/" + RemovedLetters.name)) }
            for (index, file) in files.files.enumerated() {
                let following = index + 1 < files.files.count ? files.files[index + 1].first : nil
                try Self.load(file.first, following, files, site, quarantine, &state)
            }
            // One that was made just before a kill may have its name in memory only.
            if state.file != nil { try site.syncDirectory(path, .deadLetterDirectorySync) }
            state.recount()
        } catch {
            throw JournalError("open the dead letters", error)
        }
        self.state = Mutex(state)
        show(state)
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
        state.files.append(
            File(first: first, bytes: size, numbers: scan.numbers, earliest: scan.earliest, latest: scan.latest))
        state.seed = files.seed(first)
        state.file = file
        if scan.validLength < size {
            // An interrupted write, or damage: nothing is added behind it.
            state.file = nil
            if gaps.isEmpty { site.telemetry.emit(JournalTornTail(path: file.path, length: scan.validLength)) }
        }
    }

    /// What may be kept from now on.
    package func setLimits(_ limits: Limits) { self.limits.withLock { $0 = limits } }

    /// Adds letters: durable when it returns.
    /// - Throws: `.full`: none was taken, because the bound on bytes is reached; `.io`.
    package func append(_ letters: [DeadLetter]) throws(JournalError) {
        let limits = limits.withLock { $0 }
        // Where the oldest make room, the new ones must not need all of it at once.
        let largest = limits.dropsOldest ? limits.bytes / 4 : .max
        var rest = letters[...]
        while let first = rest.first {
            var size = BatchHeader.size + first.encodedSize
            var count = 1
            for letter in rest.dropFirst() {
                guard size <= largest - min(largest, letter.encodedSize) else { break }
                size += letter.encodedSize
                count += 1
            }
            try append(Array(rest.prefix(count)), size: size, limits)
            rest = rest.dropFirst(count)
        }
    }

    private func append(_ letters: [DeadLetter], size: Int, _ limits: Limits) throws(JournalError) {
        try state.withLock { (state) throws(JournalError) in
            defer { show(state) }
            do throws(SystemError) {
                while limits.dropsOldest, state.bytes + size > limits.bytes, state.bytes > 0 { try removeOldest(&state) }
            } catch {
                throw JournalError("remove old dead letters", error)
            }
            guard state.bytes + size <= limits.bytes else {
                throw JournalError(
                    .full,
                    "dead letters: \(path) holds \(state.bytes) bytes, and may hold \(limits.bytes): retry or drop them"
                        + " (penstock dead-letters), or raise the destination's dead_letters.size")
            }
            do throws(SystemError) {
                try write(letters, &state, fileLimit: max(4096, min(Self.fileLimit, limits.bytes / 8)))
            } catch {
                // Whatever is in that file now, the next letters go to another.
                state.file = nil
                throw JournalError("write dead letters", error)
            }
        }
    }

    private func write(_ letters: [DeadLetter], _ state: inout State, fileLimit: Int) throws(SystemError) {
        let now = site.clock.wallClock()
        let isWhole = state.files.last.map {
            $0.bytes >= fileLimit || ($0.hasLetters && now.saturatingSubtract($0.earliest) >= Self.longestFile.inNanoseconds)
        }
        if state.file == nil || isWhole ?? true { try begin(&state) }
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
                receivedAt: now)
            let bytes = BatchHeader.batch(header, payload: payload, state.seed.at(offset))
            state.files[state.files.count - 1].bytes = offset + bytes.count
            try file.write(bytes.span, at: offset)
            offset += bytes.count
            next += UInt64(index - first)
        }
        try site.sync(file, .deadLetterSync)
        let number = state.files.count - 1
        state.files[number].numbers.insert(contentsOf: state.next..<next)
        state.files[number].earliest = min(state.files[number].earliest, now)
        state.files[number].latest = max(state.files[number].latest, now)
        state.next = next
        state.recount()
    }

    private func begin(_ state: inout State) throws(SystemError) {
        // A file in which nothing became durable has the name that is wanted; it gets another.
        if state.files.last?.first == state.next { state.next += 1 }
        let name = path + "/" + Segment.name(state.next)
        state.file = try site.disk.open(name, .createNew)
        state.files.append(File(first: state.next))
        state.seed = site.seed(state.next)
        try site.syncDirectory(path, .deadLetterDirectorySync)
    }

    // MARK: Retrying

    /// What `setRetry` was given last, if it is whole.
    package func retry() throws(JournalError) -> [UInt8]? {
        try journal("read the retry of dead letters") { () throws(SystemError) in
            try RetryNote.read(in: path, site)
        }
    }

    /// Keeps what has to be known of a retry so that it goes on after a restart; nil: there is none any more. Durable when
    /// it returns.
    package func setRetry(_ note: [UInt8]?) throws(JournalError) {
        try state.withLock { _ throws(JournalError) in
            try journal("keep the retry of dead letters") { () throws(SystemError) in
                try RetryNote.write(note, in: path, site)
            }
        }
    }

    // MARK: Removing

    /// Letters that somebody has dropped, or that were retried with success: they are gone when it returns.
    package func remove(_ numbers: [UInt64]) throws(JournalError) {
        try state.withLock { (state) throws(JournalError) in
            defer { show(state) }
            var removed = state.removed
            for number in numbers where number < state.next { removed.insert(number) }
            if let first = state.files.first?.first { removed.forget(below: first) }
            guard removed != state.removed else { return }
            do throws(SystemError) {
                try removed.write(in: path, site.disk)
                state.removed = removed
                state.recount()
                try removeFilesOfNone(&state)
            } catch {
                throw JournalError("remove dead letters", error)
            }
        }
    }

    /// Removes what is older than the limits allow.
    package func expire() throws(JournalError) {
        guard let time = limits.withLock({ $0.time }) else { return }
        let oldest = site.clock.wallClock() &- time.inNanoseconds
        try state.withLock { (state) throws(JournalError) in
            defer { show(state) }
            do throws(SystemError) {
                while let first = state.files.first, first.hasLetters, first.latest < oldest { try removeOldest(&state) }
            } catch {
                throw JournalError("remove old dead letters", error)
            }
        }
    }

    private func removeOldest(_ state: inout State) throws(SystemError) {
        guard !state.files.isEmpty else { return }
        let count = state.count(0)
        try removeFile(0, &state)
        state.expired += count
        if count > 0 { site.telemetry.emit(DeadLettersExpired(path: path, count: count)) }
    }

    private func removeFilesOfNone(_ state: inout State) throws(SystemError) {
        for index in state.files.indices.reversed() where state.files[index].hasLetters && state.count(index) == 0 {
            try removeFile(index, &state)
        }
    }

    /// There is always a last file, whose name says which numbers were given.
    private func removeFile(_ index: Int, _ state: inout State) throws(SystemError) {
        if index == state.files.count - 1 {
            state.file = nil
            try begin(&state)
        }
        try site.disk.remove(path + "/" + Segment.name(state.files[index].first))
        state.files.remove(at: index)
        state.recount()
        // A file that a power cut brings back may be one of which the others know nothing more.
        try site.disk.syncDirectory(path)
    }

    /// How many there are.
    package var count: Int { shown.withLock { Int(clamping: $0.count) } }
    /// How many went for the sake of the limits, since the start.
    package var expired: UInt64 { shown.withLock { $0.expired } }
    /// The number that the next letter gets.
    package var next: UInt64 { state.withLock { $0.next } }
    package var bytes: Int { shown.withLock { $0.bytes } }

    private func show(_ state: borrowing State) {
        let next = Shown(count: state.count, expired: state.expired, bytes: state.bytes)
        shown.withLock { $0 = next }
    }

    /// Reads the letters that are there, in order, from the one of this number on, until `body` returns false.
    /// Those appended meanwhile may be among them.
    /// - Parameter isWanted: asked before each batch, also where no letter in it is to be given; false: no more.
    package func forEach(
        from number: UInt64 = 0, while isWanted: () -> Bool = { true }, _ body: (UInt64, DeadLetter) -> Bool
    ) throws(JournalError) {
        try journal("read dead letters") { () throws(SystemError) in
            try DeadLetterFiles(path, site.uuid, site.disk, site.protections).forEach(from: number, while: isWanted, body)
        }
    }
}
