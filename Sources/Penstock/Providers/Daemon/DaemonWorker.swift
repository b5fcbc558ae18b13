/// Performs the decisions of `DaemonSession` in its own thread: socket, spool and clock.
final class DaemonWorker {
    typealias Instant = ContinuousClock.Instant

    /// The number of bytes that are read from the spool and sent at once.
    private static let spoolReadSize = 64 << 10
    /// The longest wait in one turn.
    private static let longestWait: Duration = .seconds(3600)

    private let client: DaemonClient
    private let options: DaemonProvider.Options
    private let wake: Int32
    private var session: DaemonSession
    private let spool: ProviderSpool
    private var random = SystemRandomNumberGenerator()

    private var connection: Int32 = -1
    private var answers = DaemonAnswers()
    private var buffer = [UInt8](repeating: 0, count: 64 << 10)
    /// The lines that are being sent; `outgoingSent` bytes of them are written.
    private var outgoing: [UInt8] = []
    private var outgoingSent = 0
    private var isBlocked = false

    private var hasLingered = false
    /// Whether the current outage has been reported.
    private var hasReportedOutage = false
    private var drops: DropReports
    private var closesAt: Instant?

    init(_ client: DaemonClient, wakenBy wake: Int32) {
        self.client = client
        self.wake = wake
        options = client.options
        drops = DropReports(
            queueEvents: options.queueEvents, queueBytes: options.queueBytes,
            spoolBytes: options.spool == nil ? nil : options.spoolBytes, advice: "that the daemon runs")
        spool = ProviderSpool(
            directory: options.spoolOfSocket, maximumBytes: options.spoolBytes,
            segmentBytes: options.spoolSegmentBytes, adoptionInterval: options.adoptionInterval)
        let spill = DaemonSession.Amount(lines: options.queueEvents / 4, bytes: options.queueBytes / 4)
        session = DaemonSession(reconnect: options.reconnectDelay, spill: spill, now: .now)
    }

    func run() {
        while !turn(now: .now) {}
        client.closeConnection()
        spool.close()
    }

    /// - Returns: Whether this was the last turn.
    private func turn(now: Instant) -> Bool {
        let turn = client.beginTurn()
        session.take(turn.blocks)
        if !turn.blocks.isEmpty { hasLingered = false }
        if turn.isClosing, closesAt == nil { closesAt = now + options.closingTimeout }
        if let report = drops.report(now: now, newDrops: client.newDrops) { client.report(report) }
        adoptIfDue(now: now)
        if turn.isPurging { purge(now: now) }

        let isDue = [turn.deadline, closesAt].contains { $0.map { $0 <= now } ?? false }
        let disk = DaemonSession.Disk(unsent: spool.unsent, hasRoom: spool.hasRoom(now))
        let action = session.next(now: now, disk: disk, mustSpool: isDue)
        let worked = perform(action, now: now)
        if isDue, action != .spool { client.answerFlushes(now: now) }
        if turn.isClosing, isDone || (isDue && action != .spool && closesAt.map { $0 <= now } ?? false), end() {
            return true
        }

        var until = [turn.deadline, closesAt, drops.next].compactMap { $0 }.min() ?? now + Self.longestWait
        if case .wait(let time?) = action { until = min(until, time) }
        // While the daemon is unreachable, adoption can wait.
        if session.link == .up { until = min(until, spool.adoptsAt) }
        rest(now: now, until: until, worked: worked, isClosing: turn.isClosing)
        return false
    }

    private var isDone: Bool { session.isIdle && spool.bytes == 0 }

    private func end() -> Bool {
        guard client.workerEnds() else { return false }
        let lost = session.memory.lines
        if lost > 0 {
            client.note { $0.dropped += lost }
            client.report(
                Diagnostic(
                    .eventsDropped,
                    "\(lost) \(lost == 1 ? "event was" : "events were") lost when the provider was released: "
                        + "neither acknowledged nor spooled; flush the provider before you release it",
                    events: lost))
        }
        return true
    }

    private func rest(now: Instant, until: Instant, worked: Bool, isClosing: Bool) {
        var milliseconds: Int32 = 0
        var sleeps = false
        if !worked && !isClosing && !hasLingered {
            // Linger without sleeping: events recorded now need not wake this thread.
            milliseconds = Self.milliseconds(min(options.lingerTime, now.duration(to: until)))
        } else if !worked {
            sleeps = isClosing || client.fallAsleep()
            milliseconds = sleeps ? Self.milliseconds(now.duration(to: until)) : 0
        }
        let ready = DaemonConnection.wait(
            connection, toWrite: isBlocked, wake: sleeps ? wake : -1, milliseconds: milliseconds)
        if sleeps { client.wakeUp() }
        hasLingered = !worked && !ready.canRead && !sleeps
        if ready.canWrite { isBlocked = false }
        if ready.canRead { receive() }
    }

    /// Rounded up, so that the deadline has passed when the wait ends.
    private static func milliseconds(_ time: Duration) -> Int32 {
        guard time > .zero else { return 0 }
        // No wait is longer. Clamp it first, so that the product cannot overflow.
        let time = min(time, longestWait)
        return Int32(
            clamping: time.components.seconds * 1000
                + (time.components.attoseconds + 999_999_999_999_999) / 1_000_000_000_000_000)
    }

    // MARK: Actions

    /// - Returns: Whether there may be more to do at once.
    private func perform(_ action: DaemonSession.Action, now: Instant) -> Bool {
        switch action {
        case .connect: connect(now: now)
        case .spool: spoolOldest(now: now)
        case .resume:
            if isBlocked { return false }
            transmit()
        case .sendSpooled: sendSpooled()
        case .send(let block):
            session.begin(lines: block.lines, bytes: block.bytes.count, block: block)
            send(block.bytes)
        case .wait: return false
        }
        return true
    }

    private func connect(now: Instant) {
        let number = client.makeConnection(DaemonConnection.open)
        if let problem = DaemonConnection.connect(number, to: options.socket) { return disconnect(problem, now: now) }
        connection = number
        answers = DaemonAnswers()
        isBlocked = false
        session.connected()
        client.note { $0.isConnected = true }
        // The buffer of a new socket always has room for this line.
        _ = DaemonConnection.send(Array("{\"penstock\":{\"acks\":true}}\n".utf8), from: 0, to: connection)
    }

    private func disconnect(_ problem: String, now: Instant) {
        disconnect(now: now)
        guard !hasReportedOutage else { return }
        hasReportedOutage = true
        let place = options.spool == nil ? " in memory" : ""
        client.report(
            Diagnostic(
                .unreachable, "\(problem); events are kept\(place) until the daemon is back",
                events: session.memory.lines))
    }

    /// Ends the connection. The next one is made after a delay.
    private func disconnect(now: Instant) {
        client.closeConnection()
        connection = -1
        outgoing = []
        let (spooledLines, memory) = session.disconnected(now: now, using: &random)
        spool.acknowledge(lines: spooledLines)
        spool.rewind()
        client.note { $0.isConnected = false }
        client.release(memory)
        noteSpool()
    }

    private func send(_ bytes: [UInt8]) {
        outgoing = bytes
        outgoingSent = 0
        transmit()
    }

    private func transmit() {
        switch DaemonConnection.send(outgoing, from: outgoingSent, to: connection) {
        case .bytes(let count):
            outgoingSent += count
            if outgoingSent == outgoing.count {
                outgoing = []
                session.finishedSending()
            }
        case .wouldBlock: isBlocked = true
        case .ended(let problem):
            // Process the answers that arrived before the connection was closed.
            receive()
            if connection >= 0 { disconnect("\(options.socket): \(problem)", now: .now) }
        }
    }

    private func receive() {
        while connection >= 0 {
            switch DaemonConnection.receive(into: &buffer, from: connection) {
            case .bytes(let count): take(answers.take(buffer[..<count]))
            case .wouldBlock: return
            case .ended(let problem): disconnect("\(options.socket): \(problem)", now: .now)
            }
            if answers.isTooLong { disconnect("\(options.socket): the answer is not Penstock's protocol", now: .now) }
        }
    }

    private func take(_ answers: [DaemonAnswer]) {
        for answer in answers {
            switch answer {
            case .acknowledged(let lines):
                guard let settled = try? session.acknowledged(upTo: lines) else {
                    return disconnect(
                        "\(options.socket): the daemon acknowledged \(lines) lines, "
                            + "which does not match the lines sent",
                        now: .now)
                }
                hasReportedOutage = false
                if settled.spooled > 0 {
                    spool.acknowledge(bytes: settled.spooled)
                    noteSpool()
                }
                client.note { $0.acknowledged += settled.lines }
                client.release(settled.memory, reusing: settled.blocks)
            case .refused(let line, let messageID, let reason, let detail):
                client.note { $0.refused += 1 }
                let id = messageID.map { "messageId \($0)" } ?? "no messageId"
                let problem = "was refused by the daemon (\(id)): \(reason): \(detail)"
                let event = line.flatMap { session.event(line: $0) }
                client.report(
                    event.map { Diagnostic(.eventRefused, about: $0, problem) }
                        ?? Diagnostic(.eventRefused, "an event \(problem)"))
            case .unknown:
                return disconnect("\(options.socket): the answer is not Penstock's protocol", now: .now)
            }
        }
    }

    // MARK: The spool

    private func spoolOldest(now: Instant) {
        guard let (block, wasSent) = session.oldestInMemory else { return }
        switch spool.append(block.bytes, wasSent: wasSent, now: now) {
        case .done:
            session.spooledOldest()
            noteSpool()
            client.release(
                DaemonSession.Amount(lines: block.lines, bytes: block.bytes.count),
                reusing: wasSent ? [] : [block.bytes])
        case .full: break
        case .failed(let problem?):
            client.report(Diagnostic(.spoolFailed, problem, events: session.memory.lines))
        case .failed(nil): break
        }
    }

    private func sendSpooled() {
        let next: LineBlock?
        do throws(SpoolUnavailable) {
            next = try spool.next(Self.spoolReadSize)
        } catch {
            // The attempt after the next connection may succeed.
            disconnect(now: .now)
            return report(error)
        }
        guard let lines = next else {
            let (bytes, problem) = spool.skipUnreadable()
            // The skipped bytes count as sent. They are acknowledged together with the lines that follow.
            session.begin(lines: 0, bytes: bytes, block: nil)
            session.finishedSending()
            client.report(Diagnostic(.eventsDropped, problem))
            return
        }
        session.begin(lines: lines.lines, bytes: lines.bytes.count, block: nil)
        send(lines.bytes)
    }

    private func adoptIfDue(now: Instant) {
        do throws(SpoolUnavailable) {
            guard try spool.adoptIfDue(now, isWaiting: session.isWaiting) else { return }
        } catch {
            report(error)
        }
        noteSpool()
    }

    private func report(_ problem: SpoolUnavailable) {
        if let report = spool.report(problem) { client.report(report) }
    }

    private func noteSpool() {
        let bytes = spool.bytes
        client.note { $0.spooledBytes = bytes }
    }

    /// Discards all events. The connection is closed, because acknowledgements of discarded events may be on their way.
    private func purge(now: Instant) {
        client.closeConnection()
        connection = -1
        outgoing = []
        client.note { $0.isConnected = false }
        let amount = session.purge(now: now)
        do throws(SpoolUnavailable) { try spool.purge() } catch { report(error) }
        noteSpool()
        client.note { $0.purged += amount.lines }
        client.release(amount)
    }
}
