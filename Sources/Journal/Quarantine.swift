import Platform
import Synchronization
import Telemetry

/// Knows the damage that was met, tells it once, and keeps a copy of the bytes in `quarantine/`:
/// retention may remove the segment before somebody has looked. Any thread.
final class Quarantine: Sendable {
    static let directory = "quarantine"
    /// Gaps that are remembered one by one; the rest are counted.
    private static let limit = 1000
    /// Bytes of one range that are copied.
    private static let copyLimit = 64 << 20

    private struct State {
        var gaps: [Gap] = []
        var count = 0
    }

    private let site: JournalSite
    private let state = Mutex(State())

    init(_ site: JournalSite) { self.site = site }

    var gaps: (known: [Gap], count: Int) { state.withLock { ($0.gaps, $0.count) } }

    /// Takes note of damage, the first time it is met.
    func report(_ gap: Gap, file: (any DiskFile)?) {
        let new = state.withLock { state in
            if Self.isKnown(gap, state.gaps) { return false }
            state.count += 1
            if state.gaps.count < Self.limit { state.gaps.append(gap) }
            return state.count <= Self.limit
        }
        guard new else { return }
        var gap = gap
        if let file, !gap.bytes.isEmpty, site.protections.contains(.quarantineCopy) {
            do throws(SystemError) {
                gap.copy = try copy(gap.bytes, of: file)
                state.withLock { state in
                    for index in state.gaps.indices
                    where state.gaps[index].path == gap.path && state.gaps[index].bytes == gap.bytes {
                        state.gaps[index].copy = gap.copy
                    }
                }
            } catch {
                site.telemetry.emit(JournalFile(detail: "damaged bytes could not be copied to quarantine/: \(error)"))
            }
        }
        site.telemetry.emit(JournalGap(gap: gap))
    }

    /// Whether the gaps of a file cover a gap, together: recovery reports parts of one range of bytes apart when it knows
    /// more of one than of another. One that has grown since is reported again.
    private static func isKnown(_ gap: Gap, _ gaps: [Gap]) -> Bool {
        let known = gaps.filter { $0.path == gap.path }.map(\.positions).sorted { $0.lowerBound < $1.lowerBound }
        guard !gap.positions.isEmpty else {
            return known.contains { $0.lowerBound <= gap.positions.lowerBound && $0.upperBound >= gap.positions.upperBound }
        }
        var covered = gap.positions.lowerBound
        for positions in known where positions.lowerBound <= covered { covered = max(covered, positions.upperBound) }
        return covered >= gap.positions.upperBound
    }

    /// Copies bytes of a segment; again gives the copy that is there.
    /// - Returns: the copy's path; at most 64 MiB are copied.
    @discardableResult
    func copy(_ range: Range<Int>, of file: any DiskFile) throws(SystemError) -> String {
        let directory = try makeDirectory()
        let path = Self.path(of: range, of: file.path, in: site.directory)
        if try site.disk.status(path) == nil { try write(range, of: file, to: path) }
        // Also for one that was made just before a kill.
        try site.syncDirectory(directory, .quarantineDirectorySync)
        try site.syncDirectory(site.directory, .quarantineEntrySync)
        return path
    }

    private func write(_ range: Range<Int>, of file: any DiskFile, to path: String) throws(SystemError) {
        let copy = try site.disk.open(path + ".new", .createOrReadWrite)
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
        try site.sync(copy, .quarantineSync)
        try site.disk.rename(path + ".new", to: path)
    }

    /// Moves a file of which nothing can be used.
    func move(_ file: String) throws(SystemError) {
        let directory = try makeDirectory()
        let name = Self.name(of: file, in: site.directory)
        var number = 0
        while try site.disk.status("\(directory)/\(name)-\(number)") != nil { number += 1 }
        try site.disk.rename(file, to: "\(directory)/\(name)-\(number)")
        try site.syncDirectory(directory, .quarantineDirectorySync)
        try site.syncDirectory(site.directory, .quarantineEntrySync)
    }

    private func makeDirectory() throws(SystemError) -> String {
        let directory = site.path(Self.directory)
        try site.disk.makeDirectory(directory, permissions: 0o750)
        return directory
    }

    /// Where the copy of a file's bytes is, if there is one.
    static func path(of range: Range<Int>, of file: String, in journal: String) -> String {
        "\(journal)/\(directory)/\(name(of: file, in: journal))-\(range.lowerBound)-\(range.count)"
    }

    /// The file's path in the journal, with dashes for slashes.
    private static func name(of path: String, in journal: String) -> String {
        String(path.dropFirst(journal.utf8.count + 1).map { $0 == "/" ? "-" : $0 })
    }
}
