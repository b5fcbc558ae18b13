import Events
import Journal
import Platform

// The invariants. Each observes the code under test from outside and compares it with the ledger.
extension World {
    /// Checks the invariants. Called after every step.
    func look() {
        guard let journal, !disk.isDead, trace.violation == nil else { return }
        count(.checks)
        notePublished()
        noteDrops()
        noteGaps(journal)
        // Retention does not wait for a destination that a failed reload declared or that a reload removed.
        for outside in outsides where !configured.contains(outside.name) { outside.wasAway = true }
        for outside in outsides {
            checkCursor(of: outside, journal)
            checkReplay(to: outside, journal)
        }
    }

    /// The end that readers may see only grows.
    func notePublished() {
        guard let journal else { return }
        let end = journal.durableEnd
        if end < published {
            trace.violated("readers saw positions up to \(published), and the durable end went back to \(end)")
        }
        if journal.acknowledgedEnd > journal.statistics().next {
            trace.violated("the acknowledged end is above the accepted end")
        }
        if options.sync != .always { acknowledgedAsWritten = max(acknowledgedAsWritten, journal.acknowledgedEnd) }
        guard end > published else { return }
        ledger.mark(published..<end, options.sync == .never ? [.published, .volatile] : .published)
        published = end
    }

    private func noteDrops() {
        // After damage to a cursor, removed events may include some that its destination never got.
        for (name, position) in log.takeRestarts() where damagedCursors != nil {
            guard let outside = outside(name) else { continue }
            for below in 0..<min(position, Ledger.limit)
            where ledger[below].marks.contains(.removed) && outside[below] == .none {
                outside[below] = .dropped
            }
        }
        for (name, positions) in log.takeDrops() {
            guard let outside = outside(name) else { continue }
            for position in positions where outside[position] == .none { outside[position] = .dropped }
        }
    }

    /// A gap may be reported only for damaged positions and for positions that were not promised.
    private func noteGaps(_ journal: Journal) {
        let statistics = journal.statistics()
        guard statistics.gapCount > gapsSeen else { return }
        for gap in statistics.gaps.dropFirst(gapsSeen) {
            count(.gaps)
            trace.note("gap", Int(gap.positions.lowerBound), "to \(gap.positions.upperBound): \(gap)")
            if gap.reason == .removed { noteRemoved(gap) } else { noteMissing(gap) }
        }
        gapsSeen = statistics.gapCount
    }

    private func noteRemoved(_ gap: Gap) {
        guard let outside = outsides.first(where: { gap.path.hasSuffix(" " + $0.name) }) else { return }
        let isAnybodys = gap.positions.clamped(to: 0..<Ledger.limit).contains {
            ledger[$0].event != nil && !ledger[$0].marks.contains(.reported)
        }
        if isAnybodys && !outside.wasAway && damagedCursors == nil {
            trace.violated("\(outside.name) was always configured and lost positions \(gap.positions)")
        }
        for position in gap.positions.clamped(to: 0..<Ledger.limit) where outside[position] == .none {
            outside[position] = .dropped
        }
    }

    private func noteMissing(_ gap: Gap) {
        // A damaged cursor may name any position.
        let positions = gap.positions.clamped(to: 0..<UInt64(ledger.positions.count))
        for position in positions where ledger[position].isPromised {
            trace.violated("undamaged position \(position) is reported as missing (\(gap.reason))")
            return
        }
        if isUnharmed, gap.reason != .interrupted, let position = positions.first(where: { isRemovedWhole(ledger[$0]) })
        {
            trace.violated("position \(position) was removed by retention and is reported as missing (\(gap.reason))")
        }
        ledger.mark(positions, .reported)
        if gap.reason == .interrupted { ledger.mark(positions, .interrupted) }
        guard gap.reason == .damaged else { return }
        if isUnharmed, positions.contains(where: { ledger[$0].marks.contains(.interrupted) }) {
            trace.violated(
                "positions \(gap.positions) are reported as damaged, and were reported as an interrupted write before")
        }
        guard !gap.bytes.isEmpty else { return }
        if let copy = gap.copy {
            copies.append((copy, gap.bytes.count))
        } else if !log.hasFailedCopy {
            trace.violated("damaged bytes of \(gap.path) were not copied to quarantine")
        }
    }

    /// Whether the event was present when retention removed it, so that it is not missing.
    private func isRemovedWhole(_ entry: Ledger.Position) -> Bool {
        entry.event != nil && entry.marks.isSuperset(of: [.published, .removed])
            && entry.marks.isDisjoint(with: [.reported, .volatile])
    }

    /// Whether only crashes affected the segments, and recovery could record its findings.
    private var isUnharmed: Bool { damagedInodes.isEmpty && !hasBeenUnsynced && !log.hasFailedSeal }

    /// A cursor is never above what is settled.
    private func checkCursor(of outside: Outside, _ journal: Journal) {
        guard outside.start != nil, let cursor = journal.cursor(of: outside.name)?.position else { return }
        if cursor > published {
            // A cursor can be above the durable end only if the journal lost its last events.
            if cursor > journal.statistics().next {
                trace.violated("the cursor of \(outside.name) is at \(cursor), above the next position")
            }
        }
        while outside.checked < cursor, outside.checked < Ledger.limit {
            let position = outside.checked
            let entry = ledger[position]
            if let event = entry.event, outside[position] == .none, !entry.marks.contains(.reported),
                !outside.leavesOut || outside.wants(event)
            {
                return trace.violated(
                    "the cursor of \(outside.name) is at \(cursor), and event \(event) at \(position) is not settled")
            }
            outside.checked += 1
        }
        outside.checked = min(outside.checked, cursor)
    }

    /// Verifies an event that a reader got from the journal.
    /// - Returns: the event's number. nil: the event is wrong at this position.
    func verify(_ json: ArraySlice<UInt8>, at position: UInt64, by whom: String) -> Int? {
        guard let number = ledger.number(of: json) else {
            trace.violated("\(whom) got bytes at \(position) that no client sent")
            return nil
        }
        guard let event = ledger[position].event else {
            // An old sector, or one of an earlier file of this name, can bring back an event that was written
            // there and never promised.
            if faults.mayHaveMovedSectors { return number }
            trace.violated("\(whom) got event \(number) at \(position), which has no event")
            return nil
        }
        if event != number {
            guard faults.mayHaveMovedSectors, !ledger[position].isPromised else {
                trace.violated("\(whom) got event \(number) at \(position), which belongs to event \(event)")
                return number
            }
            // Neither this event nor the one that had the position next was promised.
            ledger.forget(position)
        }
        if let journal, position >= journal.durableEnd {
            trace.violated("\(whom) got position \(position), above the durable end \(journal.durableEnd)")
        }
        return number
    }

    /// Reads as a replay does: in order and without skipping a present event.
    func read(_ journal: Journal, from start: UInt64, batches: Int, size: Int) {
        let reader = journal.makeReader(from: start)
        var batch = EventBatch()
        var next = max(start, journal.firstPosition)
        for _ in 0..<batches {
            guard (try? reader.read(into: &batch, maximumBytes: size)) == true, !disk.isDead else { return }
            noteGaps(journal)
            for event in batch.events {
                guard event.position >= next else {
                    return trace.violated("a reader got \(event.position) after \(next)")
                }
                passed(next..<event.position)
                _ = verify(batch.text(of: event)[...], at: event.position, by: "a reader")
                next = event.position + 1
            }
        }
    }

    private func passed(_ positions: Range<UInt64>) {
        for position in positions where ledger[position].isPromised {
            trace.violated("a reader skipped position \(position), which is present")
            return
        }
    }

    /// Retention removes a segment. No destination may need it.
    func removed(_ path: String, _ inode: Inode) {
        guard let journal else { return }
        let name = String(path.split(separator: "/").last ?? "")
        let later = disk.files().compactMap { file in
            let other = String(file.path.split(separator: "/").last ?? "")
            return World.isSegment(file.path) && other > name ? UInt64(other.dropLast(4)) : nil
        }
        guard let first = UInt64(name.dropLast(4)), let following = later.min(), first < following else { return }
        for name in configured {
            let cursor = max(first, journal.cursor(of: name)?.position ?? 0)
            if cursor < following, (cursor..<following).contains(where: { ledger[$0].isPromised }) {
                trace.violated("\(path) is removed while the cursor of \(name) is at \(cursor)")
            }
        }
        ledger.mark(first..<following, .removed)
    }
}
