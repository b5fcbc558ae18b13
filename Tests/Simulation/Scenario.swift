import Journal
import Platform

/// A sequence of events that would happen by chance once in a hundred thousand worlds. The seed decides whether
/// a world has one. Before and after it, the world is like any other.
struct Scenario {
    enum Kind {
        /// The first destination is added when there are events, and the power fails soon after.
        case lateDestination
        /// The disk holds blocks of an earlier journal, and some of them reappear.
        case earlierJournal
        /// The cursors are lost just after a destination was added.
        case lostCursors
        /// Segments are removed while the cursors that passed them are only in memory.
        case slowCommits
        /// The power fails while the cursors are written.
        case tornCursors
        /// A segment fails after it got a part of a commit, and its events were acknowledged as written.
        case failingSeal
        /// The process ends while it writes the cursors, the next process's first write of them fails, and the power
        /// fails.
        case failingCursors
        /// The disk holds blocks of an earlier journal, and the power fails while this journal has no data on the disk
        /// and no cursors.
        case unsyncedBeginning
        /// The process ends repeatedly while it starts, with and without a power cut.
        case crashLoop
        /// A live cursor is damaged at rest, between two starts.
        case damagedLiveCursor
        /// A live cursor reaches the disk before its events, and the power fails. It fails again after other events
        /// got their positions.
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

    /// Whether the disk holds blocks of an earlier journal.
    var hasEarlierJournal: Bool { kind == .earlierJournal || kind == .unsyncedBeginning }

    /// The number of destinations in the first configuration. nil: any number.
    var destinations: Int? {
        switch kind {
        case .lateDestination, .unsyncedBeginning: 0
        case .lostCursors, .slowCommits, .tornCursors, .failingCursors, .damagedLiveCursor, .earlyLiveCursor: 1
        case .earlierJournal, .failingSeal, .crashLoop, nil: nil
        }
    }

    /// Whether its destinations have no state, so that they have live cursors.
    var needsLiveCursors: Bool { kind == .damagedLiveCursor || kind == .earlyLiveCursor }

    /// Whether the destinations must not change yet.
    var waitsWithDestinations: Bool { isDue }

    mutating func end() { isDue = false }

    /// Sets the journal options that the scenario needs.
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
        case .lateDestination, .earlierJournal, .lostCursors, .tornCursors, .failingCursors, .crashLoop,
            .damagedLiveCursor, nil:
            break
        }
    }
}

extension World {
    /// Called before a step. Plays the scenario once there are events to lose.
    func play() {
        guard let life else { return }
        if counts[Count.steps.rawValue] == 1, scenario.kind == .lateDestination, random.oneIn(2) {
            return nameSegment(life)
        }
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

    /// The first call of the commit writes a slot. It is only in the page cache when the process ends.
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
        guard disk.isDead else {
            disk.dieAfter = nil
            return
        }
        comeBack(afterPowerCut: false)
        disk.failsNextCursorSync = true
        start(faulty: false)
        disk.failsNextCursorSync = false
        if self.life == nil { comeBack(afterPowerCut: true) }
    }

    /// The process ends in the middle of a write, and then up to eight times during a start.
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

    /// Several segments are written. None of them reaches the disk.
    private func loseBeginning(_ life: Life) {
        scenario.end()
        for _ in 0..<random.within(2...12) {
            send()
            life.steps.keep()
            life.steps.write()
        }
        comeBack(afterPowerCut: true)
    }

    /// The first call writes a part of the commit. The second call writes the seal, and fails.
    private func failSeal(_ life: Life) {
        life.steps.keep()
        send()
        life.steps.write()
        for _ in 0..<20 { send() }
        disk.segmentFailureAfter = 1
        life.steps.write()
        disk.segmentFailureAfter = nil
    }

    /// The process ends between the rename of a segment and the sync of its directory. The next process writes to
    /// that segment, and the power fails.
    private func nameSegment(_ life: Life) {
        life.steps.keep()
        for _ in 0..<4 { send() }
        disk.dieAfter = 1
        life.steps.write()
        guard disk.isDead else {
            disk.dieAfter = nil
            return
        }
        comeBack(afterPowerCut: false)
        start(faulty: true)
        guard let life = self.life, !disk.isDead else { return }
        for _ in 0..<4 { send() }
        life.steps.write()
        hear()
        look()
        comeBack(afterPowerCut: true)
    }

    /// The process ends, and damage increases the position in a slot.
    private func damageLiveCursor(_ life: Life) {
        for _ in 0..<2 where !disk.isDead { deliver(life) }
        look()
        comeBack(afterPowerCut: false)
        guard let (path, inode) = liveCursors, inode.current.count > 48 else { return }
        inode.sync(&disk.random)
        damagedLive = true
        trace.note("damage", 40, path)
        inode.damage([UInt8(clamping: published)], at: 40)
        damagedInodes.insert(inode.number)
    }

    private var liveCursors: (path: String, inode: Inode)? {
        // The higher number is longer, or comes later in the alphabet.
        disk.files().filter { World.isLiveCursors($0.path) }.max {
            ($0.path.utf8.count, $0.path) < ($1.path.utf8.count, $1.path)
        }
    }

    /// Only the live cursor reaches the disk, and the power fails. Later events that get the same positions do
    /// reach it, and the power fails again. Then the disk may show a sector of the first file of live cursors.
    private func outrunEvents(_ life: Life) {
        for _ in 0..<4 where !disk.isDead { deliver(life) }
        look()
        guard !disk.isDead, let inode = liveCursors?.inode else { return }
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
        guard random.oneIn(2), let (path, inode) = liveCursors,
            let old = disk.freedSectors.randomElement(using: &random),
            old.offset + old.bytes.count <= inode.durable.count
        else { return }
        noteDamage(path, inode, old.bytes, old.offset)
        inode.damage(old.bytes, at: old.offset)
        damagedInodes.insert(inode.number)
    }

    /// Damages both slots.
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
