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

    init(_ site: JournalSite, destination: String, limit: Int) throws(JournalError) {
        self.site = site
        self.limit = Atomic(limit)
        path = site.path(Self.directory) + "/" + Self.fileName(destination)
        var state = State(seed: site.seed(0))
        do throws(SystemError) {
            try site.disk.makeDirectory(path, permissions: 0o750)
            try site.syncDirectory(site.path(Self.directory), .deadLettersDirectorySync)
            try site.syncDirectory(site.directory, .deadLettersEntrySync)
            for first in try site.disk.list(path).compactMap(Segment.position(ofName:)).sorted() {
                try Self.load(path + "/" + Segment.name(first), first, site, &state)
            }
        } catch {
            throw JournalError("open the dead letters", error)
        }
        self.state = Mutex(state)
    }

    /// Destinations' names hold what a file name must not: everything but letters, digits, `-`, `_`
    /// and inner dots becomes %XX.
    private static func fileName(_ destination: String) -> String {
        var name = ""
        for byte in destination.utf8 {
            let character = Unicode.Scalar(byte)
            let isPlain = character.properties.isASCIIHexDigit || (97...122).contains(byte) || (65...90).contains(byte)
            if isPlain || character == "-" || character == "_" || (character == "." && !name.isEmpty) {
                name.unicodeScalars.append(character)
            } else {
                name += "%" + (byte < 16 ? "0" : "") + String(byte, radix: 16, uppercase: true)
            }
        }
        return name
    }

    private static func load(_ path: String, _ first: UInt64, _ site: JournalSite, _ state: inout State) throws(SystemError) {
        let file = try site.disk.open(path, .readWrite)
        let size = try file.size()
        let seed = site.seed(first)
        var end = 0
        state.next = max(state.next, first)
        try each(file, seed, size) { header, offset, _ in
            end = offset + header.totalSize
            state.next = max(state.next, header.endPosition)
            state.count += Int(header.count)
        }
        state.files.append((first, size))
        state.seed = seed
        state.file = file
        if end < size {
            // An interrupted write, or damage: nothing is added behind it.
            state.file = nil
            site.telemetry.emit(JournalTornTail(path: path, length: end))
        }
    }

    /// Calls for every batch of dead letters that is whole.
    private static func each(
        _ file: any DiskFile, _ seed: ChecksumSeed, _ size: Int, _ body: (BatchHeader, Int, RawSpan) -> Void
    ) throws(SystemError) {
        var walker = SegmentWalker(file, seed: seed, limit: size, verifying: true)
        while true {
            switch try walker.next() {
            case .batch(let header, let offset, true) where header.kind == BatchHeader.Kind.deadLetters:
                var bytes: [UInt8] = []
                _ = try file.read(Int(header.payloadLength), at: offset + BatchHeader.size, appendingTo: &bytes)
                body(header, offset, bytes.span.raw)
            case .batch, .hole: continue
            case .end: return
            }
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
        let files = state.withLock { $0.files }
        try journal("read dead letters") { () throws(SystemError) in
            for (first, size) in files {
                let file = try site.disk.open(path + "/" + Segment.name(first), .readOnly)
                try Self.each(file, site.seed(first), size) { header, _, payload in
                    var place = 0
                    for _ in 0..<header.count {
                        guard let letter = DeadLetter.decode(payload, at: &place) else { return }
                        body(letter)
                    }
                }
            }
        }
    }
}
