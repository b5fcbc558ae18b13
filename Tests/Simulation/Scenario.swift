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
    }

    let kind: Kind?
    private(set) var isDue: Bool

    init(_ seed: UInt64) {
        kind =
            switch seed % 16 {
            case 5: .lateDestination
            case 9: .earlierJournal
            case 13: .lostCursors
            default: nil
            }
        isDue = kind == .lateDestination || kind == .lostCursors
    }

    /// How many destinations are configured first; nil: any number.
    var destinations: Int? {
        switch kind {
        case .lateDestination: 0
        case .lostCursors: 1
        case .earlierJournal, nil: nil
        }
    }

    /// Whether they have to stay as they are.
    var waitsWithDestinations: Bool { isDue }

    mutating func end() { isDue = false }
}

extension World {
    /// Before a step: the turn comes once there is something to lose.
    func play() {
        guard let life else { return }
        if counts[Count.steps.rawValue] == 1, scenario.kind == .lateDestination, random.oneIn(2) { return nameSegment(life) }
        guard published >= 30, life.journal.durableEnd == published else { return }
        scenario.end()
        trace.note("scenario")
        reload()
        guard let life = self.life, !disk.isDead else { return }
        for _ in 0..<random.within(1...8) {
            if scenario.kind == .lostCursors {
                send()
                life.steps.write()
            }
            turn(life)
            for running in life.running { running.destination.settle() }
            if disk.isDead { return }
        }
        look()
        if scenario.kind == .lostCursors { loseCursors() }
        comeBack(afterPowerCut: true)
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
