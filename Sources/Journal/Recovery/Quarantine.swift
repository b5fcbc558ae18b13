import Platform
import Synchronization
import Telemetry

/// Records damage, reports each gap once, and copies the damaged bytes to `quarantine/`, because retention may remove
/// the segment before somebody has looked at it. Any thread.
final class Quarantine: Sendable {
    static let directory = "quarantine"
    /// Gaps that are recorded one by one; further gaps are only counted.
    private static let limit = 1000
    /// The maximum of bytes to copy from one range.
    private static let copyLimit = 64 << 20

    private struct State {
        var gaps: [Gap] = []
        var count = 0
    }

    private let context: JournalContext
    private let state = Mutex(State())

    init(_ context: JournalContext) { self.context = context }

    var gaps: (known: [Gap], count: Int) { state.withLock { ($0.gaps, $0.count) } }

    /// The number of positions from `first` on that were acknowledged, are lost, and still need somebody: the copy of
    /// their bytes is in `quarantine/`, or there is none because a file is missing. Blocks on the disk.
    func unresolved(from first: UInt64) -> UInt64 {
        gaps.known.reduce(0) { sum, gap in
            guard gap.isLoss, gap.positions.upperBound > first else { return sum }
            // A copy that cannot be looked up counts as present.
            if let copy = gap.copy, case .some(.none) = try? context.disk.status(copy) { return sum }
            return sum.saturatingAdd(gap.positions.length)
        }
    }

    /// Records a gap and reports it, unless it is known already.
    func report(_ gap: Gap, file: (any DiskFile)?) {
        let new = state.withLock { state in
            if Self.isKnown(gap, state.gaps) { return false }
            state.count += 1
            if state.gaps.count < Self.limit { state.gaps.append(gap) }
            return state.count <= Self.limit
        }
        guard new else { return }
        var gap = gap
        if let file, !gap.bytes.isEmpty, context.protections.contains(.quarantineCopy) {
            do throws(SystemError) {
                gap.copy = try copy(gap.bytes, of: file)
                state.withLock { state in
                    for index in state.gaps.indices
                    where state.gaps[index].path == gap.path && state.gaps[index].bytes == gap.bytes {
                        state.gaps[index].copy = gap.copy
                    }
                }
            } catch {
                context.telemetry.emit(
                    JournalFile(detail: "damaged bytes could not be copied to quarantine/: \(error)"))
            }
        }
        context.telemetry.emit(JournalGap(gap: gap))
    }

    /// Whether the recorded gaps of a file cover this gap together. Recovery reports the parts of a damaged range
    /// separately when it knows more about one part than about another. A gap that has grown is reported again.
    private static func isKnown(_ gap: Gap, _ gaps: [Gap]) -> Bool {
        let known = gaps.filter { $0.path == gap.path }.map(\.positions).sorted { $0.lowerBound < $1.lowerBound }
        guard !gap.positions.isEmpty else {
            return known.contains {
                $0.lowerBound <= gap.positions.lowerBound && $0.upperBound >= gap.positions.upperBound
            }
        }
        var covered = gap.positions.lowerBound
        for positions in known where positions.lowerBound <= covered { covered = max(covered, positions.upperBound) }
        return covered >= gap.positions.upperBound
    }

    /// Copies bytes of a segment, at most 64 MiB. If a copy exists, it is kept.
    /// - Returns: the path of the copy.
    @discardableResult
    func copy(_ range: Range<Int>, of file: any DiskFile) throws(SystemError) -> String {
        let directory = try makeDirectory()
        let path = Self.path(of: range, of: file.path, in: context.directory)
        if try context.disk.status(path) == nil { try write(range, of: file, to: path) }
        // Sync for an existing copy too: it may have been made just before a kill.
        try context.syncDirectory(directory, .quarantineDirectorySync)
        try context.syncDirectory(context.directory, .quarantineEntrySync)
        return path
    }

    private func write(_ range: Range<Int>, of file: any DiskFile, to path: String) throws(SystemError) {
        let copy = try context.disk.open(path + ".new", .createOrReadWrite)
        try copy.truncate(to: 0)
        let end = min(range.upperBound, range.lowerBound + Self.copyLimit)
        var offset = range.lowerBound
        var piece: [UInt8] = []
        while offset < end {
            piece.removeAll(keepingCapacity: true)
            let got = try file.read(min(1 << 20, end - offset), at: offset, appendingTo: &piece)
            if got == 0 { break }
            try copy.write(piece.span, at: offset - range.lowerBound)
            offset += got
        }
        try context.sync(copy, .quarantineSync)
        try context.disk.rename(path + ".new", to: path)
    }

    /// Moves a file to quarantine.
    func move(_ file: String) throws(SystemError) {
        let directory = try makeDirectory()
        let name = Self.name(of: file, in: context.directory)
        var number = 0
        while try context.disk.status("\(directory)/\(name)-\(number)") != nil { number += 1 }
        try context.disk.rename(file, to: "\(directory)/\(name)-\(number)")
        try context.syncDirectory(directory, .quarantineDirectorySync)
        try context.syncDirectory(context.directory, .quarantineEntrySync)
    }

    private func makeDirectory() throws(SystemError) -> String {
        let directory = context.path(Self.directory)
        try context.disk.makeDirectory(directory, permissions: 0o750)
        return directory
    }

    /// The path of the copy of a file's bytes, whether it exists or not.
    static func path(of range: Range<Int>, of file: String, in journal: String) -> String {
        "\(journal)/\(directory)/\(name(of: file, in: journal))-\(range.lowerBound)-\(range.count)"
    }

    /// The file's path in the journal, with dashes for slashes.
    private static func name(of path: String, in journal: String) -> String {
        String(path.dropFirst(journal.utf8.count + 1).map { $0 == "/" ? "-" : $0 })
    }
}
