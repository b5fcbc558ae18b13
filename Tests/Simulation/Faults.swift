import Glibc
import Platform

/// The faults of a world, their rates and their counts. Each world has its own mix: some have a single kind of
/// fault, some have all.
final class Faults {
    enum Kind: Int, CaseIterable {
        case readError, writeError, shortWrite, openError, renameError, unlinkError, listError, statusError
        case syncError, directorySyncError, allocateError, truncateError, fullDisk
        case kill, powerCut, lostSector, lostEntry, recycledSector, evictedPage
        case bitFlip, oldSector, misdirectedSector
    }

    /// Faults that one call can meet.
    private static let ofCalls: [Kind] = [
        .readError, .writeError, .shortWrite, .openError, .renameError, .unlinkError, .listError, .statusError,
        .syncError, .directorySyncError, .allocateError, .truncateError,
    ]

    private var random: Generator
    /// For each kind, one in this many calls fails. 0: none fails.
    private var rates = [Int](repeating: 0, count: Kind.allCases.count)
    private(set) var counts = [Int](repeating: 0, count: Kind.allCases.count)
    /// Sectors may hold what was written elsewhere or earlier: an event may lie at the position of another.
    var mayHaveMovedSectors: Bool { counts[Kind.oldSector.rawValue] + counts[Kind.misdirectedSector.rawValue] > 0 }
    /// Off while a world is set up, audited and drained.
    var areOn = false

    init(_ random: Generator) {
        self.random = random
        let base = self.random.pick([0, 0, 5, 10, 20, 50])
        guard base > 0 else { return }
        for kind in Self.ofCalls where self.random.percent(40) {
            rates[kind.rawValue] = base * self.random.within(1...4)
        }
        // Reads and status calls are so frequent that the usual rates would stop all progress.
        rates[Kind.readError.rawValue] *= 4
        rates[Kind.statusError.rawValue] *= 4
    }

    func strikes(_ kind: Kind) -> Bool {
        guard areOn, random.oneIn(rates[kind.rawValue]) else { return false }
        counts[kind.rawValue] += 1
        return true
    }

    func note(_ kind: Kind, _ count: Int = 1) { counts[kind.rawValue] += count }

    /// Throws if a call of this kind fails now.
    func check(_ kind: Kind, _ call: String, _ path: String) throws(SystemError) {
        guard strikes(kind) else { return }
        let codes: [Int32] =
            switch kind {
            case .openError: [EMFILE, EIO, ENOMEM, EINTR]
            case .writeError, .shortWrite, .allocateError: [EIO, ENOSPC, EDQUOT, ENOMEM]
            case .renameError: [EIO, ENOSPC]
            case .listError, .statusError: [EIO, ENOMEM, EMFILE]
            default: [EIO]
            }
        throw SystemError(call, path, code: random.pick(codes))
    }
}
