import Delivery
import Events
import Journal
import JournalAdapters
import Platform

// The actions that can happen at any moment.
extension World {
    /// Performs one random action.
    func act() {
        if random.oneIn(deathRate) { disk.dieAfter = random.below(random.pick([3, 10, 40])) }
        guard let life else {
            trace.note("start")
            start(faulty: true)
            return
        }
        if let source, source.isDue { return source.act() }
        let choice = random.below(100)
        trace.note("act", choice)
        switch choice {
        case 0..<22: send()
        case 22..<36: life.steps.write()
        case 36..<44: life.steps.keep()
        case 44..<64: turn(life)
        case 64..<74: for running in life.running where random.oneIn(2) { running.destination.settle() }
        case 74..<80: hear()
        case 80..<86: pass()
        case 86..<88: if !scenario.waitsWithDestinations { reload() }
        case 88..<90: if random.oneIn(3) { replay(life) } else { again(life) }
        case 90..<92: weather()
        case 92..<94: commit(life)
        case 94..<95: stop()
        case 95..<97: if random.oneIn(deathRate / 5) { die() }
        case 97..<99: damageSomething()
        default: newClient()
        }
    }

    /// When a segment fails, only events that were acknowledged as written (not durable) may be lost, and the
    /// journal reports the loss.
    func noteFailure() {
        guard let journal, journal.durableEnd < journal.acknowledgedEnd else { return }
        ledger.mark(journal.durableEnd..<journal.acknowledgedEnd, .volatile)
    }

    func send() {
        guard let admission, let client = clients.isEmpty ? nil : random.pick(clients) else { return newClient() }
        for _ in 0..<random.pick([0, 1, 1, 3, 12]) {
            if random.oneIn(25) { client.addNonsense() }
            let size = random.pick([90, 200, 400, 400, 1500, 6000, 6000, 20_000])
            client.add(event: ledger.make(size: size), ledger)
            count(.events)
        }
        client.send(random.pick([1, 100, 5000, 100_000]), through: admission)
    }

    func hear() {
        guard let journal, !disk.isDead else { return }
        notePublished()
        for client in clients {
            for event in client.hear(durableEnd: journal.acknowledgedEnd, trace) { acknowledged(event) }
        }
    }

    func acknowledged(_ event: Int) {
        count(.acknowledged)
        guard let position = ledger.position(of: event), let journal else {
            return trace.violated("event \(event) was acknowledged but has no position")
        }
        if position >= journal.durableEnd {
            if position >= acknowledgedAsWritten {
                trace.violated(
                    "event \(event) at \(position) was acknowledged above the durable end \(journal.durableEnd)")
            }
            ledger.mark(position..<position + 1, [.acknowledged, .volatile])
        } else {
            ledger.mark(position..<position + 1, .acknowledged)
        }
    }

    private func newClient() {
        guard !clients.isEmpty, !random.oneIn(3), clients.count >= 3 else {
            clients.append(Client(number: clients.count, asksForAnswers: random.percent(80)))
            return
        }
        // Disconnects one client whatever its answers were.
        clients.remove(at: random.below(clients.count))
    }

    func turn(_ life: Life) {
        for running in life.running where random.percent(70) {
            _ = running.worker.turn(now: clock.now())
            if disk.isDead { return }
            running.outside.underWay.noteKept()
        }
    }

    private func pass() {
        clock.advance(
            random.pick([.milliseconds(1), .milliseconds(100), .seconds(1), .seconds(5), .seconds(60), .seconds(3600)]))
        if random.oneIn(20) { clock.jump(.seconds(random.within(-100...100))) }
        if random.oneIn(100) { clock.jump(.seconds(86_400 * random.within(-4000...4000))) }
        if random.oneIn(25) { fillDisk() }
        for outside in outsides where random.oneIn(4) { outside.trouble = random.pick([0, 0, 0, 1, 5, 10]) }
        for outside in outsides where random.oneIn(8) { outside.isCured.toggle() }
    }

    private func replay(_ life: Life) {
        count(.rereads)
        let from = UInt64(random.below(Int(life.journal.durableEnd) + 1))
        read(life.journal, from: from, batches: random.within(1...4), size: random.pick([100, 10_000, 1 << 20]))
    }

    /// Other programs fill the filesystem, or free space again.
    private func fillDisk() {
        let isFull = disk.capacity < usualCapacity
        disk.capacity = isFull ? usualCapacity : min(usualCapacity, disk.used + random.pick([0, 5000, 20_000, 70_000]))
    }

    /// The kernel writes back or evicts a page on its own.
    private func weather() {
        let files = disk.files()
        guard !files.isEmpty else { return }
        let inode = random.pick(files).inode
        if random.oneIn(2) {
            var random = random.fork()
            inode.persistSome(&random, recycled: nil)
        } else if inode.hasLost {
            faults.note(.evictedPage)
            inode.evict()
        }
    }

    func commit(_ life: Life) {
        do { try life.journal.commit() } catch { return }
        guard !disk.isDead else { return }
        for outside in outsides where outside.start != nil {
            outside.committed = life.journal.cursor(of: outside.name)?.position ?? 0
            noteCommittedReplay(to: outside, life.journal)
        }
    }

    private func die() {
        comeBack(afterPowerCut: random.percent(60))
    }

    func reload() {
        guard let life else { return }
        count(.reloads)
        var next = outsides.map(\.name).filter { _ in random.percent(70) }
        if next.isEmpty { next = [outsides[0].name] }
        do {
            try declare(life.journal, configured + next)
            World.change(&options, &random)
            if options.sync == .never { hasBeenUnsynced = true }
            try life.journal.configure(options)
        } catch { return }
        // Unchanged destinations are restarted too, because their settings may have changed.
        let running = life.running
        self.life?.running = []
        self.life?.letters = Dictionary(uniqueKeysWithValues: running.map { ($0.outside.name, $0.letters.file) })
        for one in running { end(one) }
        guard !disk.isDead else { return }
        let before = configured
        configured = next
        for name in before where !configured.contains(name) { outside(name)?.wasAway = true }
        startDestinations()
        if !disk.isDead { try? declare(life.journal, configured) }
    }

    func declare(_ journal: Journal, _ names: [String]) throws {
        let fresh = names.filter { outside($0)?.start == nil }
        let start = random.oneIn(2) ? journal.firstPosition : journal.statistics().next
        try journal.declare(destinations: names.map { ($0, start) })
        guard !disk.isDead else { return }
        for name in fresh {
            guard let outside = outside(name), let cursor = journal.cursor(of: name) else { continue }
            outside.start = cursor.position
            outside.checked = cursor.position
            outside.committed = cursor.position
        }
    }

    /// Stops a worker as a reload does: deliveries in flight may settle until the deadline.
    func end(_ running: Running) {
        running.worker.requestStop(by: clock.now() + .seconds(1))
        for _ in 0..<50 where !running.worker.isStopped {
            _ = running.worker.turn(now: clock.now())
            running.destination.settle()
            clock.advance(.milliseconds(100))
        }
        if !running.worker.isStopped, !disk.isDead {
            trace.violated("the worker of \(running.outside.name) did not stop")
        }
        running.outside.crash()
    }

    private func stop() {
        guard let life else { return }
        trace.note("stop")
        for running in life.running { end(running) }
        life.journal.stop()
        if !disk.isDead {
            notePublished()
            comeBack(afterPowerCut: random.oneIn(3))
        }
    }
}
