import Delivery
import Journal
import JournalAdapters
import Platform

/// A requested replay and its deliveries.
final class SimulatedReplay {
    let range: Range<UInt64>
    /// The positions that were delivered or became dead letters since the request.
    var brought: Set<UInt64> = []
    /// The highest first position that the journal had while the replay ran.
    var beginning: UInt64 = 0
    /// Its cursor has been verified up to this position.
    var checked: UInt64
    /// Whether the replay was seen to be complete.
    var isOver = false
    var isCancelled = false

    init(_ range: Range<UInt64>) {
        self.range = range
        checked = range.lowerBound
    }
}

/// Makes the routers of one destination's replays and retries. A world has only one thread.
struct BackfillRouters: @unchecked Sendable {
    let outside: Outside
    unowned let world: World

    func router(_ replay: Replay?) -> any EventRouter { SimulatedRouter(outside, world, isOfLetters: replay == nil) }
}

// Replays and retries of dead letters.
extension World {
    /// The replay that is running to a destination.
    func replay(to outside: Outside) -> SimulatedReplay? {
        guard let journal, let kept = JournalCursors(journal: journal, owner: "simulated").replay(of: outside.name)
        else { return nil }
        return outside.replays[kept.id]
    }

    /// Requests a replay, cancels one, or requests a retry of dead letters.
    func again(_ life: Life) {
        guard !life.running.isEmpty else { return }
        let running = random.pick(life.running)
        switch random.below(5) {
        case 0, 1: retry(running)
        case 2 where random.oneIn(3): cancelReplay(running, life)
        default: askForReplay(running, life)
        }
    }

    private func retry(_ running: Running) {
        let (share, rest) = random.pick([(1, 0), (2, 0), (3, 1)])
        let isNew =
            (try? running.letters.file.beginRetry(condition: "\(share) \(rest)") { Int($0.position) % share == rest })
            ?? false
        trace.note("retry", isNew ? 1 : 0, running.outside.name)
        if isNew { running.worker.backfill() }
    }

    private func askForReplay(_ running: Running, _ life: Life) {
        let (journal, outside) = (life.journal, running.outside)
        let live = max(journal.cursor(of: outside.name)?.position ?? 0, running.worker.status.positionSettled)
        guard journal.replay(of: outside.name) == nil, journal.firstPosition < live else { return }
        let first = journal.firstPosition + UInt64(random.below(Int(live - journal.firstPosition)))
        let end = first + 1 + UInt64(random.below(Int(live - first)))
        let replay = Replay(
            id: "\(counts[Count.steps.rawValue])", from: 0, until: .max, positions: first..<end,
            eventsPerSecond: random.pick([nil, nil, 5]), acceptedAt: clock.wallClock())
        guard let cursor = JournalCursor(replay) else { return trace.violated("a replay without a filter is too long") }
        trace.note("replay", Int(first), "to \(end): \(outside.name)")
        outside.replays[replay.id] = SimulatedReplay(first..<end)
        journal.setReplay(of: outside.name, to: cursor)
        do { try journal.commit() } catch { return journal.setReplay(of: outside.name, to: nil) }
        guard !disk.isDead else { return }
        outside.committedReplay = (replay.id, first)
        count(.replays)
        running.worker.backfill()
    }

    private func cancelReplay(_ running: Running, _ life: Life) {
        guard let replay = replay(to: running.outside) else { return }
        trace.note("cancel", 0, running.outside.name)
        replay.isCancelled = true
        life.journal.setReplay(of: running.outside.name, to: nil)
        do { try life.journal.commit() } catch { return }
        guard !disk.isDead else { return }
        running.outside.committedReplay = nil
        running.worker.backfill()
    }

    /// A replay's cursor is never above its deliveries, and a complete replay has delivered all of its range.
    func checkReplay(to outside: Outside, _ journal: Journal) {
        guard !outside.replays.isEmpty else { return }
        let kept = JournalCursors(journal: journal, owner: "simulated").replay(of: outside.name)
        for (id, replay) in outside.replays.sorted(by: { $0.key < $1.key }) where id != kept?.id {
            guard damagedCursors == nil, !replay.isOver, !replay.isCancelled, outside.committedReplay?.id == id else {
                continue
            }
            replay.isOver = true
            check(replay, upTo: replay.range.upperBound, outside, journal)
        }
        guard let kept else { return }
        guard let replay = outside.replays[kept.id] else {
            return trace.violated("a replay to \(outside.name) runs that was not requested")
        }
        replay.isOver = false
        replay.checked = min(replay.checked, kept.progress.position)
        check(replay, upTo: min(kept.progress.position, replay.range.upperBound), outside, journal)
    }

    /// Skips events that the journal removed, because `when_full: drop_oldest` does not wait for replays. A power
    /// cut may restore such events.
    private func check(_ replay: SimulatedReplay, upTo end: UInt64, _ outside: Outside, _ journal: Journal) {
        replay.beginning = max(replay.beginning, journal.firstPosition)
        while replay.checked < end {
            let position = replay.checked
            if ledger[position].isPromised, let event = ledger[position].event, outside.wants(event),
                !replay.brought.contains(position),
                !ledger[position].marks.contains(.reported), position >= replay.beginning
            {
                return trace.violated(
                    "the replay to \(outside.name) is at \(end) and has not delivered event \(event) at \(position)")
            }
            replay.checked += 1
        }
    }

    /// Called after a start. The durable progress of a replay must be kept.
    func checkCommittedReplay(to outside: Outside, _ journal: Journal) {
        guard damagedCursors == nil, let committed = outside.committedReplay, let replay = outside.replays[committed.id]
        else { return }
        let kept = JournalCursors(journal: journal, owner: "simulated").replay(of: outside.name)
        if kept?.id == committed.id {
            if let kept, kept.progress.position < committed.position {
                trace.violated(
                    "the replay to \(outside.name) was committed at \(committed.position) and went back to \(kept.progress.position)"
                )
            }
        } else if !replay.isOver, !replay.isCancelled {
            trace.violated("the committed replay to \(outside.name) is lost")
        }
    }

    /// Records the replay progress that a commit made durable.
    func noteCommittedReplay(to outside: Outside, _ journal: Journal) {
        let kept = JournalCursors(journal: journal, owner: "simulated").replay(of: outside.name)
        outside.committedReplay = kept.map { ($0.id, $0.progress.position) }
    }

    /// Whether no replay or retry can continue.
    func isNothingAgain(_ life: Life) -> Bool {
        life.running.allSatisfy { running in
            if life.journal.replay(of: running.outside.name) != nil { return false }
            guard running.letters.file.isRetrying else { return true }
            // The dead letter of a lost event waits until live delivery has passed its position.
            let end = life.journal.cursor(of: running.outside.name)?.position ?? 0
            var isAhead = false
            try? running.letters.file.store.forEach { _, letter in
                isAhead = isAhead || letter.position >= end
                return !isAhead
            }
            return isAhead
        }
    }
}
