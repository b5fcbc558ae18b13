import Delivery
import Journal
import JournalAdapters
import Platform

// Starting, crashing and restarting.
extension World {
    func begin() {
        disk.prepare("/var/lib/penstock")
        if scenario.hasEarlierJournal || random.percent(15) { earlierJournal() }
        faults.areOn = true
        start(faulty: true)
    }

    /// Writes and removes an earlier journal, so that its bytes are still on the disk.
    private func earlierJournal() {
        let own = options
        // The bytes must reach the disk.
        options.sync = .always
        defer { options = own }
        guard let journal = try? open(seed: 1) else { return trace.violated("an empty disk was refused") }
        let steps = journal.startStepped()
        let client = Client(number: 9, asksForAnswers: false)
        life = Life(journal: journal, steps: steps)
        steps.keep()
        for _ in 0..<random.within(1...20) {
            client.add(event: ledger.make(size: 900), ledger)
            if let admission { client.send(1 << 20, through: admission) }
            steps.write()
        }
        journal.stop()
        life = nil
        for (path, inode) in disk.files() where path.hasSuffix(".seg") {
            disk.bury(String(path.split(separator: "/").last ?? ""), inode.durable)
            earlier = inode.durable
        }
        for name in disk.files().map(\.path) { try? disk.remove(name) }
        disk.forgetDirectory(World.directory)
        ledger = Ledger()
        published = 0
    }

    private func open(seed: UInt64) throws(JournalError) -> Journal {
        try Journal.open(
            directory: World.directory, options: options, disk: disk, clock: clock, telemetry: telemetry,
            generator: Generator(seed: seed))
    }

    /// Starts the daemon. If the disk fails, a later step retries.
    func start(faulty: Bool) {
        count(.lives)
        let wasOn = faults.areOn
        faults.areOn = faulty
        defer { faults.areOn = wasOn }
        let journal: Journal
        do throws(JournalError) { journal = try open(seed: random.next()) } catch {
            trace.note("refused", 0, "\(error)")
            if error.code == .inconsistent, !disk.isDead { excuse(error) }
            return
        }
        if disk.isDead { return }
        if hasDamagedManifest { return trace.violated("a manifest that was changed at rest is accepted") }
        let steps = journal.startStepped()
        gapsSeen = 0
        life = Life(journal: journal, steps: steps)
        audit(journal)
        source?.restart(journal)
        if trace.violation != nil { return }
        do { try declare(journal, configured) } catch {
            life = nil
            return
        }
        startDestinations()
    }

    /// Whether the manifest's contents were changed. A checksum in another letter case is not a change.
    private var hasDamagedManifest: Bool {
        guard let damage = damagedManifest, let inode = disk.inode(World.directory + "/manifest"),
            inode.number == damage.inode
        else { return false }
        let said = damage.bytes.dropLast("crc32c 00000000\n".utf8.count)
        return !inode.current.starts(with: said)
    }

    /// Acts as the operator: restores a damaged manifest from a copy. Also restores damaged cursors if blocks of an
    /// earlier journal appear in the segments, because the two journals cannot be distinguished then.
    private func excuse(_ error: JournalError) {
        if let damage = damagedManifest, let inode = disk.inode(World.directory + "/manifest"),
            inode.number == damage.inode
        {
            inode.damage(damage.bytes, at: 0)
            damagedManifest = nil
        } else if hasStaleBlocks, let damage = damagedCursors, let inode = disk.inode(World.directory + "/cursors"),
            inode.number == damage.inode
        {
            inode.damage(damage.bytes, at: 0)
        } else {
            trace.violated("an undamaged journal is refused: \(error)")
        }
    }

    private var hasStaleBlocks: Bool {
        faults.counts[Faults.Kind.recycledSector.rawValue] + faults.counts[Faults.Kind.misdirectedSector.rawValue] > 0
    }

    func startDestinations() {
        guard let life else { return }
        for name in configured {
            guard let outside = outside(name) else { continue }
            let file: DeadLetterFile
            let limit = random.pick([2000, 20_000, 1 << 20])
            do {
                file =
                    try life.letters[name]
                    ?? DeadLetterFile(
                        life.journal.deadLetters(of: name, limit: limit), journal: life.journal.uuid.bytes)
                try file.resumeRetry { order in
                    let numbers = (order.condition ?? "").split(separator: " ").compactMap { Int($0) }
                    guard numbers.count == 2 else { throw Trouble() }
                    return { Int($0.position) % numbers[0] == numbers[1] }
                }
            } catch {
                // The daemon would not start.
                if !disk.isDead { comeBack(afterPowerCut: false) }
                return
            }
            if disk.isDead { return }
            file.store.setLimits(.init(bytes: limit))
            check(file.store, outside)
            let isByUser = random.percent(20)
            let destination = SimulatedDestination(outside, self, isByUser: isByUser, random.fork())
            let letters = SimulatedDeadLetters(outside, self, file)
            let policy = DeliveryPolicy(
                batchEvents: random.pick([1, 5, 50, 1000]), batchBytes: random.pick([2000, 1 << 20]),
                batchWait: random.pick([.zero, .zero, .milliseconds(500)]), inFlight: outside.inFlight,
                retryMaximum: .seconds(60), giveUpAfter: random.pick([nil, .seconds(600)]),
                attempts: random.pick([nil, nil, 3]), order: isByUser ? .user : .destination,
                checkpointInterval: random.pick([.milliseconds(1), .seconds(1)]))
            var setting = DeliveryWorker.Setting(
                name: name, policy: policy, log: JournalLog(journal: life.journal),
                cursors: JournalCursors(journal: life.journal, owner: "simulated"), clock: clock, telemetry: telemetry)
            let routers = BackfillRouters(outside: outside, world: self)
            setting.backfillRouter = { replay, _ in routers.router(replay) }
            let worker = DeliveryWorker(
                setting, router: SimulatedRouter(outside, self), destination: destination, deadLetters: letters,
                random: random.fork(), wake: {})
            self.life?.running.append(
                Running(outside: outside, destination: destination, letters: letters, worker: worker))
        }
    }

    /// Ends the process at once. No effect after the last call that the disk answered is visible outside.
    func comeBack(afterPowerCut: Bool) {
        trace.note("die", afterPowerCut ? 1 : 0)
        life = nil
        clients = []
        for outside in outsides { outside.crash() }
        if afterPowerCut { for outside in outsides { outside.underWay.allowEverything(outside) } }
        if afterPowerCut { disk.cutPower() } else { disk.kill() }
        disk.dieAfter = nil
        wasPowerCut = wasPowerCut || afterPowerCut
        checkFiles()
    }
}
