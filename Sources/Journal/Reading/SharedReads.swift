import Platform
import Synchronization

/// What was read last from sealed segments. Readers that lag at about the same place share it: one of them reads a piece
/// from the disk, and the others copy it. Their destinations are new, were down together, or follow one service.
///
/// Readers that come close to each other stay together, because the one in front waits for the disk, and the others do
/// not. A reader that is alone in a segment, or at another place than the others, reads for itself. Any thread.
final class SharedReads: Sendable {
    /// Bytes of a piece.
    static let pieceSize = 512 << 10

    /// A part of a segment. It never changes.
    fileprivate final class Piece: Sendable {
        let segment: Segment
        let index: Int
        let bytes: [UInt8]

        init(_ segment: Segment, _ index: Int, _ bytes: [UInt8]) {
            self.segment = segment
            self.index = index
            self.bytes = bytes
        }
    }

    private struct State {
        /// The oldest first.
        var pieces: [Piece] = []
        var shelves: [ObjectIdentifier: SegmentReads] = [:]
    }

    private let state = Mutex(State())
    private let disk: any Disk
    /// How many pieces are kept.
    private let most: Int

    init(_ options: JournalOptions, disk: any Disk) {
        self.disk = disk
        most = max(2, options.sharedBytes / Self.pieceSize)
    }

    /// The number of bytes kept.
    var bytes: Int { state.withLock { $0.pieces.reduce(0) { $0 + $1.bytes.count } } }

    /// For a reader that has opened a sealed segment; `leave` must follow.
    func join(_ segment: Segment) -> SegmentReads {
        state.withLock { state in
            let reads = state.shelves[ObjectIdentifier(segment)] ?? SegmentReads(segment, of: self, disk)
            state.shelves[ObjectIdentifier(segment)] = reads
            reads.readers.add(1, ordering: .relaxed)
            return reads
        }
    }

    func leave(_ reads: SegmentReads) {
        state.withLock { state in
            guard reads.readers.subtract(1, ordering: .relaxed).newValue == 0 else { return }
            state.shelves[ObjectIdentifier(reads.segment)] = nil
            state.pieces.removeAll { $0.segment === reads.segment }
        }
    }

    fileprivate func piece(_ index: Int, of segment: Segment) -> Piece? {
        state.withLock { $0.pieces.last { $0.index == index && $0.segment === segment } }
    }

    fileprivate func keep(_ piece: Piece) {
        state.withLock { state in
            if state.pieces.count >= most { state.pieces.removeFirst(state.pieces.count - most + 1) }
            state.pieces.append(piece)
        }
    }
}

/// The readers in one segment, and what reads for all of them.
final class SegmentReads: Sendable {
    private struct Source {
        /// It has its own file, because reads may be in progress when a reader leaves.
        var file: (any DiskFile)?
        var ahead: ReadAhead?
        /// The piece that is read next; nil: none was read.
        var next: Int?
    }

    fileprivate let segment: Segment
    fileprivate let readers = Atomic(0)
    private let all: SharedReads
    private let disk: any Disk
    /// Locked during a read: those who want the same piece wait for it.
    private let source = Mutex(Source())

    fileprivate init(_ segment: Segment, of all: SharedReads, _ disk: any Disk) {
        self.segment = segment
        self.all = all
        self.disk = disk
    }

    /// Appends up to `count` bytes.
    /// - Returns: how many; fewer if the reader is not where the others are, and should read for itself.
    func read(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) throws(SystemError) -> Int {
        guard readers.load(ordering: .relaxed) > 1 else { return 0 }
        var done = 0
        while done < count {
            let (index, start) = (offset + done).quotientAndRemainder(dividingBy: SharedReads.pieceSize)
            guard let piece = try piece(index) else { break }
            let end = min(piece.bytes.count, start + count - done)
            guard start < end else { break }
            bytes += piece.bytes[start..<end]
            done += end - start
        }
        return done
    }

    /// A piece that was read lately, or the next one.
    private func piece(_ index: Int) throws(SystemError) -> SharedReads.Piece? {
        if let piece = all.piece(index, of: segment) { return piece }
        return try source.withLock { source throws(SystemError) in
            // Perhaps another reader has read it meanwhile.
            if let piece = all.piece(index, of: segment) { return piece }
            guard index == source.next ?? index else { return nil }
            if source.file == nil { source.file = try disk.openDirect(segment.path, .readOnly) }
            guard let file = source.file else { return nil }
            var bytes: [UInt8] = []
            _ = try file.readNext(
                SharedReads.pieceSize, at: index * SharedReads.pieceSize, ahead: &source.ahead, appendingTo: &bytes)
            source.next = index + 1
            let piece = SharedReads.Piece(segment, index, bytes)
            all.keep(piece)
            return piece
        }
    }
}
