import FleetFormat
import PenstockPluginKit

/// Reads one lane during one session, on a thread of its own: claims the lease, makes the consumer stand behind what is
/// stored, and offers what it delivers. Every wait is short enough to renew the lease meanwhile.
struct NATSLaneReader {
    /// How long a lane whose lease is given up waits for its offers.
    private static let patience = Duration.seconds(30)
    /// How long a lane that no other host has claimed is left to those that have fewer.
    private static let courtesy = Duration.seconds(2)
    /// How long a lease is looked at before it counts.
    private static let confirmation = Duration.milliseconds(300)

    let lane: NATSLane
    let settings: NATSSourceSettings
    let host: SourceHost
    let offers: PendingOffers<NATSReceipt>
    let gate: NATSGate
    let problems: NATSProblems
    let session: NATSSession
    let number: Int
    let leases: NATSLeases
    let owner: NATSOwner

    private var isRunning: Bool { gate.isRunning(number) }

    func run() {
        while isRunning {
            do {
                guard let lease = try claim() else { return }
                lease.onRenewal = { [host, lane] in host.lane(lane.name, isOursFor: $0) }
                host.laneOpened(lane.name)
                let hasYielded = use(lease)
                host.laneClosed(lane.name)
                gate.balance { $0.released(hasYielded: hasYielded) }
            } catch {
                report(error)
                gate.pause(.seconds(5), number)
            }
        }
    }

    /// Waits for the lease. Lanes spread over the hosts that claim them at the same time: who has more waits longer.
    private func claim() throws -> NATSLease? {
        var freeSince: ContinuousClock.Instant?
        while isRunning {
            let wait = Duration.milliseconds(Int.random(in: 0...400) + min(gate.held, 20) * 100)
            gate.pause(wait, number)
            guard isRunning else { return nil }
            let isFree = try leases.isFree(lane.key, for: owner)
            freeSince = isFree ? freeSince ?? .now : nil
            let isAbandoned = freeSince.map { $0 + Self.courtesy < .now } ?? false
            if isFree, gate.balance({ $0.mayClaim(isAbandoned: isAbandoned) }) {
                var lease: NATSLease?
                defer { gate.balance { $0.claimed(lease != nil, isAbandoned: isAbandoned, at: .now) } }
                lease = try claimNow()
                if let lease { return lease }
            }
            problems.set(lane, nil)
            if isFree { gate.wantCount() }
            gate.pause(isFree ? .milliseconds(300) : .seconds(1), number)
        }
        return nil
    }

    private func claimNow() throws -> NATSLease? {
        guard let lease = try leases.claim(lane.key, owner) else { return nil }
        // Servers before 2.10 may accept two claims at the same moment. Only the later one is kept.
        gate.pause(Self.confirmation, number)
        guard try lease.isConfirmed() else { return nil }
        if isRunning { return lease }
        // Otherwise the others would wait until it expires.
        lease.release()
        return nil
    }

    /// - Returns: whether the lane is let go because this host has more than its share.
    private func use(_ lease: NATSLease) -> Bool {
        lane.endSilence()
        var wait = Duration.milliseconds(100)
        var hasYielded = false
        while isRunning, !hasYielded, lease.keep() {
            do {
                hasYielded = try read(lease) { wait = .milliseconds(100) }
            } catch let interruption as NATSPull.Interruption {
                host.log(.notice, interruption.description, ["subject": lane.subject])
                gate.pause(wait, number)
            } catch {
                report(error)
                gate.pause(wait, number)
            }
            // Shorter than a third of the shortest TTL, and so that a lost lease is noticed in time.
            wait = min(wait * 2, .seconds(1))
        }
        // The leases of a lost session are taken again in the next one.
        guard gate.loss(of: number) == nil else { return hasYielded }
        if !lease.isValid {
            host.log(.warning, "the lease is lost: another host may read the subject", ["subject": lane.subject])
        }
        letGo(lease, within: hasYielded && isRunning ? nil : Self.patience)
        return hasYielded
    }

    /// Everything that was offered is stored and acknowledged before another host begins.
    /// - Parameter time: how long that may take; nil: as long as it takes, unless the host stops.
    private func letGo(_ lease: NATSLease, within time: Duration?) {
        while time == nil, isRunning, !lane.isStored(within: .milliseconds(100)) { if !lease.keep() { break } }
        let end = ContinuousClock.now + (time ?? Self.patience)
        while !lane.isStored(within: .milliseconds(100)), .now < end, !gate.isEnding, gate.loss(of: number) == nil {
            _ = lease.keep()
        }
        gate.allSent(within: .seconds(5))
        if let reply = lane.reply { session.acknowledgeNow(reply, timeout: settings.connection.timeout) }
        lease.release()
    }

    /// - Parameter works: called when messages come.
    /// - Returns: whether the lane is to be let go because this host has more than its share.
    private func read(_ lease: NATSLease, works: () -> Void) throws -> Bool {
        while !lane.isStored(within: .milliseconds(200)) {
            lane.endSilence()
            guard isRunning, lease.keep() else { return false }
        }
        let consumer = NATSConsumer(
            jetStream: session.jetStream, stream: settings.stream, lane: lane, host: host)
        let start = try consumer.prepare()
        let batch = NATSBatch(deliveries: start.deliveries, hasNoGaps: start.hasNoGaps, lane, host, gate)
        let pull = try NATSPull(session.connection, settings, lane)
        gate.add(pull, number)
        defer {
            gate.remove(pull)
            pull.close()
        }
        problems.set(lane, nil)
        let reading = FleetReading()
        while isRunning, lease.keep() {
            if gate.balance({ $0.mustYield() }) { return true }
            let wait = min(.seconds(1), max(.milliseconds(10), lease.timeToRenewal))
            guard try batch.collect(pull, waiting: wait) else { continue }
            works()
            try offer(batch, reading, lease)
        }
        return false
    }

    private func offer(_ batch: NATSBatch, _ reading: FleetReading, _ lease: NATSLease) throws {
        var parts = [batch.events]
        if let message = batch.fleet {
            do throws(FleetReading.Problem) {
                parts = try message.offers(reading, host)
            } catch {
                guard error.isUnreadable else { throw SourceError("\(error)") }
                skip(batch, "\(error)")
                parts = [EventBuffer()]
            }
        }
        // Until the last part is stored, the message comes again, and the marks tell which of its events are stored.
        let before = lane.progress.taken
        let start = NATSReceipt(lane: lane, last: before, replies: [])
        var isInside = false
        defer { if isInside { gate.isInside(-1) } }
        for part in parts.dropLast() {
            let end = Lane(name: lane.name, position: "\(before)")
            guard try offer(part, end, start, batch, lease, isInside: isInside) else { return }
            if !isInside { gate.isInside(1) }
            isInside = true
        }
        _ = try offer(parts[parts.count - 1], batch.end, batch.receipt, batch, lease, isInside: isInside)
    }

    /// Offers events until the host takes them.
    /// - Parameter isInside: the host has an earlier part of the message: the rest follows as long as the lane belongs
    ///   to this host.
    /// - Returns: false: the lane is let go.
    private func offer(
        _ events: EventBuffer, _ end: Lane, _ receipt: NATSReceipt, _ batch: NATSBatch, _ lease: NATSLease,
        isInside: Bool
    ) throws -> Bool {
        var events = events
        while isInside ? lease.keep() && !gate.isEnding : isRunning && lease.keep() {
            let wait = min(.seconds(1), max(.milliseconds(10), lease.timeToRenewal))
            do throws(SourceError) {
                let answer = try offers.offer(events, lane: end, receipt: receipt, waiting: wait)
                if case .stopped = answer { return false }
                guard case .taken = answer else { continue }
                lane.took(receipt.last, behind: batch.behind)
                return true
            } catch {
                guard events.count == 1 else { throw error }
                skip(batch, "the host does not take it: \(error)")
                events.removeAll()
            }
        }
        return false
    }

    /// A message that can never be stored does not stop the lane.
    private func skip(_ batch: NATSBatch, _ reason: String) {
        host.log(.error, "a message is left out: \(reason)", ["subject": lane.subject, "sequence": "\(batch.last)"])
        host.count("nats_skipped")
    }

    private func report(_ error: any Error) {
        // A lost session is the connection's problem.
        guard isRunning else { return }
        let text = (error as? NATSError)?.message ?? "\(error)"
        if (error as? NATSError)?.isOutage != true { problems.set(lane, text) }
        host.log(.warning, text, ["subject": lane.subject])
    }
}

/// What acknowledges an offer.
struct NATSReceipt: Sendable {
    let lane: NATSLane
    let last: UInt64
    let replies: [String]
}
