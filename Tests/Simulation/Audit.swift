import Delivery
import Events
import Journal
import JournalAdapters
import Platform

// The checks after each start of a journal, and at the end of a run.
extension World {
    /// Runs the body without faults.
    func quietly(_ body: () -> Void) {
        let (areOn, dieAfter) = (faults.areOn, disk.dieAfter)
        faults.areOn = false
        disk.dieAfter = nil
        body()
        faults.areOn = areOn
        disk.dieAfter = dieAfter
    }

    /// Reads all events. Every promised event must be present. A missing event must be one that was not promised
    /// or is reported as missing.
    func audit(_ journal: Journal) {
        quietly {
            let found = readEverything(journal)
            published = journal.durableEnd
            acknowledgedAsWritten = published
            gapsSeen = 0
            for index in ledger.positions.indices {
                let position = UInt64(index)
                if position < published, found[index] {
                    let isNew = !ledger.positions[index].marks.contains(.published)
                    ledger.positions[index].marks.formUnion(
                        isNew && options.sync == .never ? [.published, .volatile] : .published)
                    ledger.positions[index].marks.remove(.removed)
                    if wasPowerCut { ledger.positions[index].marks.remove(.volatile) }
                } else {
                    noteGone(position)
                }
            }
            look()
            checkSilence(found)
            for outside in outsides where outside.start != nil && damagedCursors == nil {
                let cursor = journal.cursor(of: outside.name)?.position ?? 0
                checkCommittedReplay(to: outside, journal)
                if cursor < outside.committed {
                    trace.violated(
                        "the cursor of \(outside.name) was committed at \(outside.committed) and went back to \(cursor)"
                    )
                }
            }
            wasPowerCut = false
        }
    }

    private func readEverything(_ journal: Journal) -> [Bool] {
        var found = [Bool](
            repeating: false, count: max(ledger.positions.count, Int(min(journal.durableEnd, Ledger.limit))))
        let reader = journal.makeReader(from: 0)
        var batch = EventBatch()
        do throws(JournalError) {
            while trace.violation == nil, try reader.read(into: &batch, maximumBytes: 1 << 20) {
                for event in batch.events {
                    guard verify(batch.text(of: event)[...], at: event.position, by: "the audit") != nil else {
                        return found
                    }
                    found[Int(event.position)] = true
                }
            }
        } catch { trace.violated("an open journal cannot be read: \(error)") }
        return found
    }

    private func noteGone(_ position: UInt64) {
        let entry = ledger[position]
        guard entry.event != nil else { return }
        if entry.isPromised {
            trace.violated(
                "promised event \(entry.event ?? 0) at \(position) is lost; the journal ends at \(published)")
        }
        let isHarmed = !entry.marks.isDisjoint(with: [.damaged, .removed])
        if !wasPowerCut, !isHarmed, entry.marks.contains(.acknowledged),
            faults.counts[Faults.Kind.evictedPage.rawValue] == 0
        {
            trace.violated("acknowledged event \(entry.event ?? 0) at \(position) is lost without a power cut")
        }
    }

    /// A missing position below the journal's end must be reported if its event was published or acknowledged.
    /// The ledger forgets all other missing positions.
    private func checkSilence(_ found: [Bool]) {
        for index in ledger.positions.indices where !found[index] {
            let entry = ledger.positions[index]
            guard entry.event != nil, !entry.marks.contains(.removed) else { continue }
            let isReliedOn = !entry.marks.isDisjoint(with: [.published, .acknowledged])
            if UInt64(index) < published, isReliedOn, !entry.marks.contains(.reported) {
                trace.violated("position \(index) is missing and was not reported")
            }
            ledger.forget(UInt64(index))
            for outside in outsides { outside[UInt64(index)] = .none }
        }
    }

    /// Checks that all dead letters of a destination are still stored.
    func check(_ store: DeadLetterStore, _ outside: Outside) {
        guard !damagedLetters.contains(outside.name) else { return }
        quietly {
            var stored: Set<UInt64> = []
            do throws(JournalError) {
                try store.forEach { _, letter in
                    if let number = ledger.number(of: letter.event), number == ledger[letter.position].event {
                        stored.insert(letter.position)
                    }
                    return true
                }
            } catch { trace.violated("dead letters cannot be read: \(error)") }
            for index in ledger.positions.indices where outside[UInt64(index)] == .deadLettered {
                // An old sector can bring back bytes that belong to no event.
                guard ledger.positions[index].event != nil else { continue }
                if !stored.contains(UInt64(index)) {
                    return trace.violated("the dead letter of \(outside.name) at \(index) is lost")
                }
            }
        }
    }

    /// Checks the files that are not being written.
    func checkFiles() {
        let spare = World.directory + "/spare"
        if let inode = disk.inode(spare), !hasBeenUnsynced, !damagedInodes.contains(inode.number) {
            if inode.current.count != options.segmentSize || !Memory.isZero(inode.current) {
                trace.violated("`spare` is not a segment of zeros")
            }
        }
        for (path, count) in copies {
            guard let inode = disk.inode(path) else {
                return trace.violated("\(path) was reported as a copy and is missing")
            }
            if inode.current.count != count { trace.violated("\(path) has \(inode.current.count) bytes of \(count)") }
        }
    }

    /// Stops the faults. Then all accepted events must be settled at every destination, with no work left.
    func drain() {
        trace.note("drain")
        faults.areOn = false
        disk.dieAfter = nil
        disk.capacity = .max
        for outside in outsides { outside.trouble = 0 }
        for _ in 0..<400 where trace.violation == nil {
            if isDrained { break }
            drainStep()
            look()
        }
        guard trace.violation == nil else { return }
        guard isDrained, let life else { return trace.violated("the daemon does not drain: \(undrained)") }
        for running in life.running { end(running) }
        life.journal.stop()
        look()
        comeBack(afterPowerCut: true)
        start(faulty: false)
        if self.life == nil, damagedManifest == nil { start(faulty: false) }
        look()
        if self.life == nil { trace.violated("the daemon does not start again") }
        count(.delivered, outsides.reduce(0) { sum, outside in sum + outside.fates.count { $0 == .taken } })
    }

    private func drainStep() {
        guard let life else { return start(faulty: false) }
        clock.advance(.seconds(7))
        // A declaration that a failed reload could not write is repeated.
        try? declare(life.journal, configured)
        if let admission { for client in clients { client.send(1 << 20, through: admission) } }
        source?.drain()
        life.steps.keep()
        life.steps.write()
        for running in life.running {
            running.letters.file.store.setLimits(.init(bytes: .max))
            _ = running.worker.turn(now: clock.now())
            while running.destination.hasOffers { running.destination.settle() }
            _ = running.worker.turn(now: clock.now())
        }
        hear()
    }

    private var isDrained: Bool {
        guard let life, clients.allSatisfy(\.isDone), source?.isDone ?? true, isNothingAgain(life) else { return false }
        let journal = life.journal
        let end = journal.statistics().next
        // A gap at the end is skipped only when a later event follows it.
        return journal.durableEnd == end
            && configured.allSatisfy { name in
                let cursor = journal.cursor(of: name)?.position ?? 0
                // A mutation may lead both anywhere, and there are no events above the ledger's.
                let rest = (cursor..<max(end, cursor)).clamped(to: 0..<UInt64(ledger.positions.count))
                return rest.allSatisfy { ledger[$0].event == nil }
            }
    }

    private var undrained: String {
        guard let journal else { return "the journal does not start" }
        let cursors = configured.map { "\($0) \(journal.cursor(of: $0)?.position ?? 0)" }.joined(separator: ", ")
        let statistics = journal.statistics()
        let again = life.map { isNothingAgain($0) ? "" : ", a replay or retry is still running" } ?? ""
        return "next \(statistics.next), durable \(statistics.durable), \(cursors), clients "
            + "\(clients.count { !$0.isDone }), \(statistics.problem ?? "no problem")\(again)"
    }
}
