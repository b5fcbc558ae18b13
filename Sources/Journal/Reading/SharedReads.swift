import Platform
import Synchronization

/// What was read last from sealed segments. Readers that lag at about the same place share it: one of them reads a
/// piece from the disk, and the others copy it. Their destinations are new, or were down together.
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
        /// By segment: those that readers are in.
        var open: [ObjectIdentifier: SegmentReads] = [:]
        /// For the next segment: the kernel takes long to release it.
        var ahead: ReadAhead?
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

    /// For a reader that reads a sealed segment from the disk; `leave` must follow.
    func join(_ segment: Segment) -> SegmentReads {
        state.withLock { state in
            let reads =
                state.open[ObjectIdentifier(segment)]
                ?? SegmentReads(segment, of: self, disk, ahead: exchange(&state.ahead, with: nil))
            state.open[ObjectIdentifier(segment)] = reads
            reads.readers.add(1, ordering: .relaxed)
            return reads
        }
    }

    func leave(_ reads: SegmentReads) {
        let left = state.withLock { state in
            let left = reads.readers.subtract(1, ordering: .relaxed).newValue
            if left == 0 { state.open[ObjectIdentifier(reads.segment)] = nil }
            // Who is alone reads for itself, and others may begin elsewhere.
            if left <= 1 { state.pieces.removeAll { $0.segment === reads.segment } }
            return left
        }
        if left == 0, let ahead = reads.close() { state.withLock { $0.ahead = ahead } }
    }

    fileprivate func piece(_ index: Int, of segment: Segment) -> Piece? {
        state.withLock { $0.pieces.last { $0.index == index && $0.segment === segment } }
    }

    fileprivate func hasPieces(of segment: Segment) -> Bool {
        state.withLock { $0.pieces.contains { $0.segment === segment } }
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
    fileprivate struct Source {
        /// It has its own file, because reads may be in progress when a reader leaves.
        var file: (any DiskFile)?
        var ahead: ReadAhead?
        /// The piece that is read next.
        var next = 0
        /// A read has failed. Each reader finds out for itself what it can still read.
        var hasFailed = false
    }

    fileprivate let segment: Segment
    fileprivate let readers = Atomic(0)
    private let all: SharedReads
    private let disk: any Disk
    /// Locked during a read: those who want the same piece wait for it.
    private let source: Mutex<Source>

    fileprivate init(_ segment: Segment, of all: SharedReads, _ disk: any Disk, ahead: ReadAhead?) {
        self.segment = segment
        self.all = all
        self.disk = disk
        source = Mutex(Source(ahead: ahead))
    }

    /// Ends the reads in progress, once no reader is left.
    fileprivate func close() -> ReadAhead? {
        source.withLock { source in
            // Before the file is closed: another one may get its number.
            source.ahead?.forget()
            source.file = nil
            return exchange(&source.ahead, with: nil)
        }
    }

    /// Appends up to `count` bytes.
    /// - Returns: how many; fewer if the reader is not where the others are, or a read has failed: then it should read
    ///   for itself.
    func read(_ count: Int, at offset: Int, appendingTo bytes: inout [UInt8]) -> Int {
        guard readers.load(ordering: .relaxed) > 1 else { return 0 }
        var done = 0
        while done < count {
            let (index, start) = (offset + done).quotientAndRemainder(dividingBy: SharedReads.pieceSize)
            guard let piece = piece(index) else { break }
            let end = min(piece.bytes.count, start + count - done)
            guard start < end else { break }
            bytes += piece.bytes[start..<end]
            done += end - start
        }
        return done
    }

    /// A piece that was read lately, or the next one.
    private func piece(_ index: Int) -> SharedReads.Piece? {
        if let piece = all.piece(index, of: segment) { return piece }
        return source.withLock { source in
            // Perhaps another reader has read it meanwhile.
            if let piece = all.piece(index, of: segment) { return piece }
            guard !source.hasFailed, index == source.next || !all.hasPieces(of: segment) else { return nil }
            do throws(SystemError) {
                let piece = SharedReads.Piece(segment, index, try source.read(index, of: segment, disk))
                source.next = index + 1
                all.keep(piece)
                return piece
            } catch {
                source.hasFailed = true
                return nil
            }
        }
    }
}

extension SegmentReads.Source {
    fileprivate mutating func read(
        _ index: Int, of segment: Segment, _ disk: any Disk
    ) throws(SystemError) -> [UInt8] {
        let file: any DiskFile
        if let open = self.file { file = open } else { file = try disk.openDirect(segment.path, .readOnly) }
        self.file = file
        var bytes: [UInt8] = []
        _ = try file.readNext(
            SharedReads.pieceSize, at: index * SharedReads.pieceSize, ahead: &ahead, appendingTo: &bytes)
        return bytes
    }
}
