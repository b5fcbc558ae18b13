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
        /// The process ends while it writes the cursors, the next one's first write of them fails, and the power goes.
        case failingCursors
        /// The disk holds an earlier journal's blocks, and the power goes when nothing of this one is on disk, nor any cursor
        /// was needed.
        case unsyncedBeginning
        /// The process ends again and again while it starts, with and without the power.
        case crashLoop
        /// A live cursor changes at rest, between two lives.
        case damagedLiveCursor
        /// A live cursor reaches the disk before the events that it has passed, and the power goes; it goes again when other
        /// events have their positions.
        case earlyLiveCursor
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
            case 11: .failingCursors
            case 15: .unsyncedBeginning
            case 0: .crashLoop
            case 2: .damagedLiveCursor
            case 6: .earlyLiveCursor
            default: nil
            }
        isDue = kind != nil && kind != .earlierJournal
    }

    /// Whether the disk holds an earlier journal's blocks.
    var hasEarlierJournal: Bool { kind == .earlierJournal || kind == .unsyncedBeginning }

    /// How many destinations are configured first; nil: any number.
    var destinations: Int? {
        switch kind {
        case .lateDestination, .unsyncedBeginning: 0
        case .lostCursors, .slowCommits, .tornCursors, .failingCursors, .damagedLiveCursor, .earlyLiveCursor: 1
        case .earlierJournal, .failingSeal, .crashLoop, nil: nil
        }
    }

    /// Whether its destinations keep no state, so that they have live cursors.
    var needsLiveCursors: Bool { kind == .damagedLiveCursor || kind == .earlyLiveCursor }

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
        case .unsyncedBeginning:
            options.sync = .never
            options.cursorInterval = .seconds(30)
        case .earlyLiveCursor:
            options.sync = .never
            options.cursorInterval = .seconds(30)
        case .lateDestination, .earlierJournal, .lostCursors, .tornCursors, .failingCursors, .crashLoop, .damagedLiveCursor, nil: break
        }
    }
}

extension World {
    /// Before a step: the turn comes once there is something to lose.
    func play() {
        guard let life else { return }
        if counts[Count.steps.rawValue] == 1, scenario.kind == .lateDestination, random.oneIn(2) { return nameSegment(life) }
        if counts[Count.steps.rawValue] == 1, scenario.kind == .unsyncedBeginning { return loseBeginning(life) }
        guard published >= 30, life.journal.durableEnd == published else { return }
        scenario.end()
        trace.note("scenario")
        switch scenario.kind {
        case .lateDestination, .lostCursors: addDestination()
        case .slowCommits: removeSegments(life)
        case .failingSeal: failSeal(life)
        case .tornCursors: tearCursors(life)
        case .failingCursors: failCursors(life)
        case .crashLoop: crashAgain(life)
        case .damagedLiveCursor: return damageLiveCursor(life)
        case .earlyLiveCursor: return outrunEvents(life)
        case .earlierJournal, .unsyncedBeginning, nil: break
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

    /// The first call of the commit writes a slot, which only the page cache has when the process ends.
    private func failCursors(_ life: Life) {
        for _ in 0..<3 where !disk.isDead {
            deliver(life)
            commit(life)
            send()
            life.steps.write()
            clock.advance(.seconds(2))
        }
        for _ in 0..<4 where !disk.isDead { deliver(life) }
        disk.dieAfter = 1
        try? life.journal.commit()
        guard disk.isDead else { return disk.dieAfter = nil }
        comeBack(afterPowerCut: false)
        disk.failsNextCursorSync = true
        start(faulty: false)
        disk.failsNextCursorSync = false
        if self.life == nil { comeBack(afterPowerCut: true) }
    }

    /// Ends in the middle of a write, and then up to eight times within a start.
    private func crashAgain(_ life: Life) {
        for _ in 0..<4 where !disk.isDead { deliver(life) }
        for _ in 0..<4 { send() }
        disk.dieAfter = random.below(8)
        life.steps.keep()
        life.steps.write()
        comeBack(afterPowerCut: random.oneIn(2))
        for _ in 0..<random.within(2...8) where trace.violation == nil {
            disk.dieAfter = random.below(random.pick([12, 40, 90]))
            start(faulty: true)
            if self.life != nil, !disk.isDead {
                look()
                if let life = self.life, random.oneIn(2) { commit(life) }
            }
            comeBack(afterPowerCut: random.oneIn(2))
        }
    }

    /// Several segments are written, and none of them reaches the disk.
    private func loseBeginning(_ life: Life) {
        scenario.end()
        for _ in 0..<random.within(2...12) {
            send()
            life.steps.keep()
            life.steps.write()
        }
        comeBack(afterPowerCut: true)
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

    /// The process ends, and the position in a slot grows.
    private func damageLiveCursor(_ life: Life) {
        for _ in 0..<2 where !disk.isDead { deliver(life) }
        look()
        comeBack(afterPowerCut: false)
        let path = World.directory + "/cursors.live"
        guard let inode = disk.inode(path), inode.current.count > 48 else { return }
        inode.sync(&disk.random)
        damagedLive = true
        trace.note("damage", 40, path)
        inode.damage([UInt8(clamping: published)], at: 40)
        damagedInodes.insert(inode.number)
    }

    /// Only the live cursor reaches the disk. What has its positions later does, and the power goes twice.
    private func outrunEvents(_ life: Life) {
        for _ in 0..<4 where !disk.isDead { deliver(life) }
        look()
        guard !disk.isDead, let inode = disk.inode(World.directory + "/cursors.live") else { return }
        inode.sync(&disk.random)
        comeBack(afterPowerCut: true)
        start(faulty: false)
        guard self.life != nil else { return }
        options.sync = .always
        try? journal?.configure(options)
        for _ in 0..<12 {
            guard let life = self.life, !disk.isDead else { return }
            life.steps.keep()
            send()
            life.steps.write()
        }
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
