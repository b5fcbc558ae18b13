import Platform
import Synchronization
import Telemetry

/// The events that one destination rejected, on disk until somebody retries or drops them. Files in
/// `dead-letters/NAME/` are named by the number of their first letter and hold the same batches as a segment (kind 2;
/// positions count letters). They grow as they are written and have no seal: the end of the file is the end of its
/// batches. The numbers of removed letters are recorded in `RemovedLetters`, and a file is deleted when all of its
/// letters are removed. Any thread.
package final class DeadLetterStore: Sendable {
    static let directory = "dead-letters"
    /// A file that reaches this size is followed by a new one.
    private static let fileLimit = 16 << 20
    /// A batch takes no more letters once its payload reaches this size.
    private static let batchLimit = 1 << 20

    /// A file takes no more letters this long after its first, so that old letters do not outlive `Limits.time` because
    /// of younger ones in the same file.
    private static let longestFile = Duration.seconds(86_400)

    /// The limits of a store.
    package struct Limits: Sendable, Equatable {
        package var bytes: Int
        /// How long to keep letters; nil for ever. A file is removed when its youngest letter is older.
        package var time: Duration?
        /// What to do when `bytes` is reached: if true, remove the oldest letters, otherwise reject new ones.
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
        /// The numbers of the whole letters in the file, including removed ones.
        var numbers = RangeSet<UInt64>()
        var hasLetters: Bool { !numbers.isEmpty }
        /// When the first and the last letter were stored, in nanoseconds since 1970-01-01 UTC.
        var earliest = Int64.max
        var latest = Int64.min
    }

    private struct State {
        var files: [File] = []
        /// The last file; nil after a failure on it.
        var file: (any DiskFile)?
        var seed: ChecksumSeed
        /// The number of the next letter.
        var next: UInt64 = 0
        var removed = RemovedLetters()
        /// The number of letters that the limits removed.
        var expired: UInt64 = 0
        /// The number of letters stored.
        private(set) var count: UInt64 = 0
        var bytes: Int { files.reduce(0) { $0 + $1.bytes } }

        /// The number of stored letters in a file. Numbers of a deleted file do not count against the files beside it.
        func count(_ index: Int) -> UInt64 { removed.countOfOthers(in: files[index].numbers) }

        mutating func recount() { count = files.indices.reduce(0) { $0 + count($1) } }
    }

    private let context: JournalContext
    private let path: String
    private let limits: Mutex<Limits>
    private let state: Mutex<State>

    /// The figures for the status, behind their own lock: a status request must not wait for the disk.
    private struct Shown {
        var count: UInt64 = 0
        var expired: UInt64 = 0
        var bytes = 0
    }

    private let shown = Mutex(Shown())

    init(_ context: JournalContext, _ quarantine: Quarantine, destination: String, limit: Int) throws(JournalError) {
        self.context = context
        limits = Mutex(Limits(bytes: limit))
        path = context.path(Self.directory) + "/" + DeadLetterFiles.directoryName(of: destination)
        var state = State(seed: context.seed(0))
        do throws(SystemError) {
            try context.disk.makeDirectory(path, permissions: 0o750)
            try context.syncDirectory(context.path(Self.directory), .deadLettersDirectorySync)
            try context.syncDirectory(context.directory, .deadLettersEntrySync)
            let files = try DeadLetterFiles(path, context.uuid, context.disk, context.protections)
            state.removed = files.removed
            if files.removed.isDamaged {
                context.telemetry.emit(RemovedLettersDamaged(path: path + "/" + RemovedLetters.name))
            }
            for (index, file) in files.files.enumerated() {
                let following = index + 1 < files.files.count ? files.files[index + 1].first : nil
                try Self.load(file.first, following, files, context, quarantine, &state)
            }
            // The name of a file made just before a kill may not be on disk yet.
            if state.file != nil { try context.syncDirectory(path, .deadLetterDirectorySync) }
            state.recount()
        } catch {
            throw JournalError("open the dead letters", error)
        }
        self.state = Mutex(state)
        show(state)
    }

    private static func load(
        _ first: UInt64, _ following: UInt64?, _ files: DeadLetterFiles, _ context: JournalContext,
        _ quarantine: Quarantine,
        _ state: inout State
    ) throws(SystemError) {
        let file = try context.disk.open(files.path(first), .readWrite)
        let size = try file.size()
        let (scan, gaps) = try files.scan(file, first, following, size: size)
        for gap in gaps {
            do throws(SystemError) {
                let copy = gap.bytes.isEmpty ? nil : try quarantine.copy(gap.bytes, of: file)
                context.telemetry.emit(DeadLettersDamaged(gap: gap, copy: copy))
            } catch {
                context.telemetry.emit(DeadLettersDamaged(gap: gap, copy: nil))
            }
        }
        state.next = max(state.next, scan.end, gaps.last?.positions.upperBound ?? 0)
        state.files.append(
            File(first: first, bytes: size, numbers: scan.numbers, earliest: scan.earliest, latest: scan.latest))
        state.seed = files.seed(first)
        state.file = file
        if scan.validLength < size {
            // An interrupted write, or damage: no letter is written after it.
            state.file = nil
            if gaps.isEmpty { context.telemetry.emit(JournalTornTail(path: file.path, length: scan.validLength)) }
        }
    }

    /// Applies new limits from now on.
    package func setLimits(_ limits: Limits) { self.limits.withLock { $0 = limits } }

    /// Adds letters; they are durable when it returns.
    /// - Throws: `.full` if the store holds letters and the limit on bytes is reached (no letter was added, unless
    ///   `dropsOldest` is set); `.io`.
    package func append(_ letters: [StoredDeadLetter]) throws(JournalError) {
        let limits = limits.withLock { $0 }
        // If the oldest letters make room, the new ones must not need all of the room at once.
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

    private func append(_ letters: [StoredDeadLetter], size: Int, _ limits: Limits) throws(JournalError) {
        try state.withLock { (state) throws(JournalError) in
            defer { show(state) }
            do throws(SystemError) {
                while limits.dropsOldest, state.bytes + size > limits.bytes, state.bytes > 0 {
                    try removeOldest(&state)
                }
            } catch {
                throw JournalError("remove old dead letters", error)
            }
            // An empty store takes any letters: the rejected events of one batch may exceed the limit by themselves,
            // and then nothing could be removed to make room for them.
            guard state.bytes + size <= limits.bytes || state.bytes == 0 else {
                throw JournalError(
                    .full,
                    "dead letters: \(path) holds \(state.bytes) bytes, and may hold \(limits.bytes): retry or drop them"
                        + " (penstock dead-letters), or raise the destination's dead_letters.size")
            }
            do throws(SystemError) {
                try write(letters, &state, fileLimit: max(4096, min(Self.fileLimit, limits.bytes / 8)))
            } catch {
                // The state of that file is unknown: the next letters are written to another.
                state.file = nil
                throw JournalError("write dead letters", error)
            }
        }
    }

    private func write(_ letters: [StoredDeadLetter], _ state: inout State, fileLimit: Int) throws(SystemError) {
        let now = context.clock.wallClock()
        let isWhole = state.files.last.map {
            $0.bytes >= fileLimit
                || ($0.hasLetters && now.saturatingSubtract($0.earliest) >= Self.longestFile.inNanoseconds)
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
        try context.sync(file, .deadLetterSync)
        let number = state.files.count - 1
        state.files[number].numbers.insert(contentsOf: state.next..<next)
        state.files[number].earliest = min(state.files[number].earliest, now)
        state.files[number].latest = max(state.files[number].latest, now)
        state.next = next
        state.recount()
    }

    private func begin(_ state: inout State) throws(SystemError) {
        // A file that failed before anything in it was durable has this name already: take the next number.
        if state.files.last?.first == state.next { state.next += 1 }
        let name = path + "/" + Segment.name(state.next)
        state.file = try context.disk.open(name, .createNew)
        state.files.append(File(first: state.next))
        state.seed = context.seed(state.next)
        try context.syncDirectory(path, .deadLetterDirectorySync)
    }

    // MARK: Retrying

    /// The note of the last `setRetry`; nil if no note is stored or it is damaged.
    package func retry() throws(JournalError) -> [UInt8]? {
        try journal("read the retry of dead letters") { () throws(SystemError) in
            try RetryNote.read(in: path, context)
        }
    }

    /// Stores a note about a retry, so that the retry continues after a restart; nil removes the note. Durable when it
    /// returns.
    package func setRetry(_ note: [UInt8]?) throws(JournalError) {
        try state.withLock { _ throws(JournalError) in
            try journal("keep the retry of dead letters") { () throws(SystemError) in
                try RetryNote.write(note, in: path, context)
            }
        }
    }

    // MARK: Removing

    /// Removes letters that were dropped, or retried with success. The removal is durable when it returns.
    package func remove(_ numbers: [UInt64]) throws(JournalError) {
        try state.withLock { (state) throws(JournalError) in
            defer { show(state) }
            var removed = state.removed
            for number in numbers where number < state.next { removed.insert(number) }
            if let first = state.files.first?.first { removed.forget(below: first) }
            guard removed != state.removed else { return }
            do throws(SystemError) {
                try removed.write(in: path, context.disk)
                state.removed = removed
                state.recount()
                try removeFilesOfNone(&state)
            } catch {
                throw JournalError("remove dead letters", error)
            }
        }
    }

    /// Removes letters that are older than the limits allow.
    package func expire() throws(JournalError) {
        guard let time = limits.withLock({ $0.time }) else { return }
        let oldest = context.clock.wallClock() &- time.inNanoseconds
        try state.withLock { (state) throws(JournalError) in
            defer { show(state) }
            do throws(SystemError) {
                while let first = state.files.first, first.hasLetters, first.latest < oldest {
                    try removeOldest(&state)
                }
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
        if count > 0 { context.telemetry.emit(DeadLettersExpired(path: path, count: count)) }
    }

    private func removeFilesOfNone(_ state: inout State) throws(SystemError) {
        for index in state.files.indices.reversed() where state.files[index].hasLetters && state.count(index) == 0 {
            try removeFile(index, &state)
        }
    }

    /// Deletes a file. A last file always remains, because its name records which numbers were assigned.
    private func removeFile(_ index: Int, _ state: inout State) throws(SystemError) {
        if index == state.files.count - 1 {
            state.file = nil
            try begin(&state)
        }
        try context.disk.remove(path + "/" + Segment.name(state.files[index].first))
        state.files.remove(at: index)
        state.recount()
        // After a power cut brings a file back, the list of removed letters may no longer contain its numbers.
        try context.disk.syncDirectory(path)
    }

    /// The number of letters stored.
    package var count: Int { shown.withLock { Int(clamping: $0.count) } }
    /// The number of letters that the limits removed since the start.
    package var expired: UInt64 { shown.withLock { $0.expired } }
    /// The number of the next letter.
    package var next: UInt64 { state.withLock { $0.next } }
    package var bytes: Int { shown.withLock { $0.bytes } }

    private func show(_ state: borrowing State) {
        let next = Shown(count: state.count, expired: state.expired, bytes: state.bytes)
        shown.withLock { $0 = next }
    }

    /// Reads the stored letters in order, starting at a number, until `body` returns false. Letters that are appended
    /// meanwhile may be included.
    /// - Parameter isWanted: called before each batch, even one without a wanted letter; false ends the reading.
    package func forEach(
        from number: UInt64 = 0, while isWanted: () -> Bool = { true }, _ body: (UInt64, StoredDeadLetter) -> Bool
    ) throws(JournalError) {
        try journal("read dead letters") { () throws(SystemError) in
            try DeadLetterFiles(path, context.uuid, context.disk, context.protections).forEach(
                from: number, while: isWanted, body)
        }
    }
}
