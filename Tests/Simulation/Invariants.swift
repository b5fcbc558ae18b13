import Events
import Journal
import Platform

// What must hold, whatever happens. Each looks at the code under test from outside, and compares it with the
// ledger.
extension World {
    /// After every step.
    func look() {
        guard let journal, !disk.isDead, trace.violation == nil else { return }
        count(.checks)
        notePublished()
        noteDrops()
        noteGaps(journal)
        // Known since a reload that was refused or did not end, or gone with one: retention does not wait for it.
        for outside in outsides where !configured.contains(outside.name) { outside.wasAway = true }
        for outside in outsides {
            checkCursor(of: outside, journal)
            checkReplay(to: outside, journal)
        }
    }

    /// What readers may see only grows.
    func notePublished() {
        guard let journal else { return }
        let end = journal.durableEnd
        if end < published { trace.violated("readers saw up to \(published), and may see up to \(end) now") }
        if journal.acknowledgedEnd > journal.statistics().next { trace.violated("more is acknowledged than was taken") }
        if options.sync != .always { acknowledgedAsWritten = max(acknowledgedAsWritten, journal.acknowledgedEnd) }
        guard end > published else { return }
        ledger.mark(published..<end, options.sync == .never ? [.published, .volatile] : .published)
        published = end
    }

    private func noteDrops() {
        // What was removed below a damaged cursor may be what its destination had not had, and nobody knows any more.
        for (name, position) in log.takeRestarts() where damagedCursors != nil {
            guard let outside = outside(name) else { continue }
            for below in 0..<min(position, Ledger.limit) where ledger[below].marks.contains(.removed) && outside[below] == .none {
                outside[below] = .dropped
            }
        }
        for (name, positions) in log.takeDrops() {
            guard let outside = outside(name) else { continue }
            for position in positions where outside[position] == .none { outside[position] = .dropped }
        }
    }

    /// A gap is told for what was damaged, or promised to nobody.
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
        let isAnybodys = gap.positions.clamped(to: 0..<Ledger.limit).contains { ledger[$0].event != nil && !ledger[$0].marks.contains(.told) }
        if isAnybodys && !outside.wasAway && damagedCursors == nil {
            trace.violated("\(outside.name) was configured all the time, and lost \(gap.positions)")
        }
        for position in gap.positions.clamped(to: 0..<Ledger.limit) where outside[position] == .none { outside[position] = .dropped }
    }

    private func noteMissing(_ gap: Gap) {
        // A damaged cursor may name any position.
        let positions = gap.positions.clamped(to: 0..<UInt64(ledger.positions.count))
        for position in positions where ledger[position].isPromised {
            trace.violated("position \(position) is told as missing (\(gap.reason)), and nothing has harmed it")
            return
        }
        if isUnharmed, gap.reason != .interrupted, let position = positions.first(where: { isRemovedWhole(ledger[$0]) }) {
            trace.violated("position \(position) was removed by retention, and is told as missing (\(gap.reason))")
        }
        ledger.mark(positions, .told)
        if gap.reason == .interrupted { ledger.mark(positions, .interrupted) }
        guard gap.reason == .damaged else { return }
        if isUnharmed, positions.contains(where: { ledger[$0].marks.contains(.interrupted) }) {
            trace.violated("\(gap.positions) is told as damaged now, and was told as an interrupted write before")
        }
        guard !gap.bytes.isEmpty else { return }
        if let copy = gap.copy {
            copies.append((copy, gap.bytes.count))
        } else if !log.hasFailedCopy {
            trace.violated("damaged bytes of \(gap.path) were not copied to quarantine")
        }
    }

    /// It was there when retention removed it, so that nothing is missing.
    private func isRemovedWhole(_ entry: Ledger.Position) -> Bool {
        entry.event != nil && entry.marks.isSuperset(of: [.published, .removed]) && entry.marks.isDisjoint(with: [.told, .volatile])
    }

    /// Nothing but crashes has happened to the segments, and recovery could write down what it found.
    private var isUnharmed: Bool { damagedInodes.isEmpty && !hasBeenUnsynced && !log.hasFailedSeal }

    /// A cursor is never above what is settled.
    private func checkCursor(of outside: Outside, _ journal: Journal) {
        guard outside.start != nil, let cursor = journal.cursor(of: outside.name)?.position else { return }
        if cursor > published {
            // Ahead of what is durable only if the journal was cut behind it.
            if cursor > journal.statistics().next { trace.violated("the cursor of \(outside.name) is at \(cursor), above everything") }
        }
        while outside.checked < cursor, outside.checked < Ledger.limit {
            let position = outside.checked
            let entry = ledger[position]
            if let event = entry.event, outside[position] == .none, !entry.marks.contains(.told) {
                return trace.violated("the cursor of \(outside.name) is at \(cursor), and event \(event) at \(position) is not settled")
            }
            outside.checked += 1
        }
        outside.checked = min(outside.checked, cursor)
    }

    /// An event as somebody got it from the journal.
    /// - Returns: its number; nil if it is not what is to be there.
    func verify(_ json: ArraySlice<UInt8>, at position: UInt64, by whom: String) -> Int? {
        guard let number = ledger.number(of: json) else {
            trace.violated("\(whom) got something at \(position) that nobody sent")
            return nil
        }
        guard let event = ledger[position].event else {
            // An old sector, or one of a file that had this name before, may bring back what was written there and
            // never promised.
            if faults.counts[Faults.Kind.oldSector.rawValue] + faults.counts[Faults.Kind.misdirectedSector.rawValue] > 0 { return number }
            trace.violated("\(whom) got event \(number) at \(position), where there is none")
            return nil
        }
        if event != number {
            let isDamage = faults.counts[Faults.Kind.oldSector.rawValue] + faults.counts[Faults.Kind.misdirectedSector.rawValue] > 0
            guard isDamage, !ledger[position].isPromised else {
                trace.violated("\(whom) got event \(number) at \(position), which is event \(event)'s")
                return number
            }
            // It was never promised, and neither was the event that had the position next.
            ledger.forget(position)
        }
        if let journal, position >= journal.durableEnd {
            trace.violated("\(whom) got position \(position), durable is \(journal.durableEnd)")
        }
        return number
    }

    /// Reads as a replay does: in order, and nothing that is there is passed over.
    func read(_ journal: Journal, from start: UInt64, batches: Int, size: Int) {
        let reader = journal.makeReader(from: start)
        var batch = EventBatch()
        var next = max(start, journal.firstPosition)
        for _ in 0..<batches {
            guard (try? reader.read(into: &batch, maximumBytes: size)) == true, !disk.isDead else { return }
            noteGaps(journal)
            for event in batch.events {
                guard event.position >= next else { return trace.violated("a reader got \(event.position) after \(next)") }
                passed(next..<event.position)
                _ = verify(batch.bytes[event.range], at: event.position, by: "a reader")
                next = event.position + 1
            }
        }
    }

    private func passed(_ positions: Range<UInt64>) {
        for position in positions where ledger[position].isPromised {
            trace.violated("a reader passed over position \(position), which is there")
            return
        }
    }

    /// Retention removes a segment: nobody may need it.
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
                trace.violated("\(path) is removed, and \(name) is at \(cursor)")
            }
        }
        ledger.mark(first..<following, .removed)
    }
}
