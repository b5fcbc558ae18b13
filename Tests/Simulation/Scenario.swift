import Journal
import Platform

/// A turn of events that chance alone would bring about once in a hundred thousand worlds. Some worlds have
/// one, by their seed's number, and are like all others before and after it.
struct Scenario {
    enum Kind {
        /// The first destination comes when there are events, and the power goes soon after.
        case lateDestination
        /// The disk holds an earlier journal's blocks, and some of them appear again.
        case earlierJournal
        /// The cursors are lost just after a destination was added.
        case lostCursors
        /// Segments are removed while the cursors that have passed them are in memory only.
        case slowCommits
        /// The power goes while the cursors are written.
        case tornCursors
        /// A segment fails when a part of a commit is in it, and what it held was acknowledged as written.
        case failingSeal
    }

    let kind: Kind?
    private(set) var isDue: Bool

    init(_ seed: UInt64) {
        kind =
            switch seed % 16 {
            case 5: .lateDestination
            case 9: .earlierJournal
            case 13: .lostCursors
            case 1: .slowCommits
            case 3: .failingSeal
            case 7: .tornCursors
            default: nil
            }
        isDue = kind != nil && kind != .earlierJournal
    }

    /// How many destinations are configured first; nil: any number.
    var destinations: Int? {
        switch kind {
        case .lateDestination: 0
        case .lostCursors, .slowCommits, .tornCursors: 1
        case .earlierJournal, .failingSeal, nil: nil
        }
    }

    /// Whether they have to stay as they are.
    var waitsWithDestinations: Bool { isDue }

    mutating func end() { isDue = false }

    /// What it asks of the journal.
    func change(_ options: inout JournalOptions) {
        switch kind {
        case .slowCommits:
            options.retainTime = .zero
            options.cursorInterval = .seconds(30)
        case .failingSeal: options.sync = .interval(.seconds(2))
        case .lateDestination, .earlierJournal, .lostCursors, .tornCursors, nil: break
        }
    }
}

extension World {
    /// Before a step: the turn comes once there is something to lose.
    func play() {
        guard let life else { return }
        if counts[Count.steps.rawValue] == 1, scenario.kind == .lateDestination, random.oneIn(2) { return nameSegment(life) }
        guard published >= 30, life.journal.durableEnd == published else { return }
        scenario.end()
        trace.note("scenario")
        switch scenario.kind {
        case .lateDestination, .lostCursors: addDestination()
        case .slowCommits: removeSegments(life)
        case .failingSeal: failSeal(life)
        case .tornCursors: tearCursors(life)
        case .earlierJournal, nil: break
        }
        guard self.life != nil else { return }
        look()
        if scenario.kind == .lostCursors { loseCursors() }
        comeBack(afterPowerCut: true)
    }

    private func addDestination() {
        reload()
        for _ in 0..<random.within(1...8) {
            guard let life, !disk.isDead else { return }
            if scenario.kind == .lostCursors {
                send()
                life.steps.write()
            }
            deliver(life)
        }
    }

    private func deliver(_ life: Life) {
        turn(life)
        for running in life.running { running.destination.settle() }
    }

    private func removeSegments(_ life: Life) {
        for _ in 0..<8 {
            send()
            life.steps.write()
            life.steps.keep()
        }
        clock.advance(.seconds(70))
        life.steps.keep()
        for _ in 0..<8 where !disk.isDead { deliver(life) }
        life.steps.keep()
    }

    private func tearCursors(_ life: Life) {
        for _ in 0..<4 where !disk.isDead {
            deliver(life)
            commit(life)
            send()
            life.steps.write()
            clock.advance(.seconds(2))
        }
        for _ in 0..<4 where !disk.isDead { deliver(life) }
        disk.dieAfter = 1
        try? life.journal.commit()
    }

    /// The first call writes a part of the commit, the second the seal.
    private func failSeal(_ life: Life) {
        life.steps.keep()
        send()
        life.steps.write()
        for _ in 0..<20 { send() }
        disk.segmentFailureAfter = 1
        life.steps.write()
        disk.segmentFailureAfter = nil
    }

    /// The process ends between a segment's name and the sync of it; the next one writes to that segment, and the
    /// power goes.
    private func nameSegment(_ life: Life) {
        life.steps.keep()
        for _ in 0..<4 { send() }
        disk.dieAfter = 1
        life.steps.write()
        guard disk.isDead else { return disk.dieAfter = nil }
        comeBack(afterPowerCut: false)
        start(faulty: true)
        guard let life = self.life, !disk.isDead else { return }
        for _ in 0..<4 { send() }
        life.steps.write()
        hear()
        look()
        comeBack(afterPowerCut: true)
    }

    /// Both slots are damaged.
    private func loseCursors() {
        let path = World.directory + "/cursors"
        guard let inode = disk.inode(path), !inode.isDirty else { return }
        let bytes = inode.durable
        for offset in [0, bytes.count / 2] where bytes.indices.contains(offset) && bytes[offset] != 0 {
            noteDamage(path, inode, [bytes[offset] ^ 1], offset)
            inode.damage([bytes[offset] ^ 1], at: offset)
            damagedInodes.insert(inode.number)
        }
    }
}
