import Events
import Platform
import Telemetry

// The steps of a worker's turn. No step waits, and any step may follow any other.
extension DeliveryWorker {
    // MARK: Opening

    /// - Returns: whether the destination is open.
    func open(_ now: Instant) -> Bool {
        if let troubleUntil, now < troubleUntil { return false }
        do {
            let cursor = setting.cursors.cursor(of: name)
            let kept = destination.settlesAtOnce ? setting.cursors.settled(of: name, .delivery) : nil
            let position = try destination.open(from: cursor) ?? max(cursor.position, kept?.position ?? 0)
            let (policy, limits) = (setting.policy, destination.limits)
            gate = policy.rateLimit.map { RateGate($0, eventsPerRequest: limits.eventsPerRequest, now: now) }
            intake = Intake(
                log: setting.log, router: router, position: position,
                needsWarmup ? warmup(before: position, router) : nil,
                builder: BatchBuilder(policy, limits), settled: kept?.ranges ?? [], tap: setting.tap)
            noted = nil
            userQueues = policy.order == .user ? UserQueues(policy) : nil
            checkpointed = position
            unsavedSince = nil
            beginBackfills(now)
            // Only a successful checkpoint resets the backoff: a destination that opens well and then fails each
            // checkpoint is tried less and less often.
            troubleUntil = nil
            return true
        } catch {
            failed("cannot open the destination", error, now)
            return false
        }
    }

    /// Discards everything in memory. After a backoff the destination is opened again at its cursor, and every event
    /// that no checkpoint covers is delivered again.
    private func restart(_ what: String, _ error: any Error, _ now: Instant) {
        failed(what, error, now)
        destination.close()
        carriedRefusals.merge(window.refusals, uniquingKeysWith: max)
        if let userQueues { carriedRefusals.merge(userQueues.refusals, uniquingKeysWith: max) }
        window = InFlightWindow(after: window)
        userQueues = nil
        rateUntil = nil
        breaker = Breaker(initial: setting.policy.retryInitial, maximum: setting.policy.retryMaximum)
        pendingLetters.removeAll()
        for backfill in backfills { backfill.end() }
        needsWarmup = intake?.isWarmingUp ?? needsWarmup
        intake = nil
        unsavedSince = nil
    }

    /// Opens the destination again if it has lost what no checkpoint covers.
    func restartIfFailed(_ now: Instant) {
        guard intake != nil, let reason = destination.failure else { return }
        restart("the destination has failed", DestinationFailure(description: reason), now)
    }

    private struct DestinationFailure: Error, CustomStringConvertible {
        var description: String
    }

    // MARK: Reading and offering

    /// - Returns: whether anything was read or routed.
    func read(_ now: Instant, _ bound: TurnBound) -> Bool {
        guard pendingLetters.isEmpty, troubleUntil.map({ now >= $0 }) ?? true, intake != nil else { return false }
        do {
            let worked =
                try intake?.advance(now, bound, refused: { pendingLetters.add($0) }, wallClock: setting.clock.wallClock)
                ?? false
            troubleUntil = nil
            return worked
        } catch {
            failed("cannot read the journal", error, now)
            return false
        }
    }

    /// Offers the next batch, if one is ready and limits allow it.
    func offer(_ now: Instant) -> Bool {
        guard pendingLetters.isEmpty, breaker.mayOffer(now), rateUntil.map({ now >= $0 }) ?? true else { return false }
        if !window.hasWaiting {
            guard window.count + backfillsOffered < inFlight, var batch = nextBatch(now) else { return false }
            if !carriedRefusals.isEmpty { carryRefusals(into: &batch) }
            window.add(batch)
        }
        rateUntil = nil
        let count = window.nextCount
        if let wait = gate?.wait(for: count, now), wait > .zero {
            rateUntil = now + wait
            return false
        }
        gate?.pass(count, now)
        guard let next = window.offerFirst(round: breaker.offered()) else { return false }
        if next.isRetry { ledger.update { $0.retries += 1 } }
        noteSettled()
        deliver(next.batch, SettlementInbox.Offer(id: next.id))
        return true
    }

    /// Offers a batch to the destination. The outcome arrives in the inbox, and at the tap if anybody watches.
    func deliver(_ batch: OutboundBatch, _ offer: SettlementInbox.Offer) {
        let inbox = inbox
        guard let tap = setting.tap, tap.watchesSending else {
            return destination.deliver(batch, DeliveryClaim { inbox.put(offer, $0) })
        }
        destination.deliver(
            batch,
            DeliveryClaim { settlement in
                inbox.put(offer, settlement)
                tap.take(sent: batch, settlement)
            })
    }

    /// Keeps the attempts that were counted before a restart.
    private func carryRefusals(into batch: inout OutboundBatch) {
        for index in batch.events.indices {
            // Transforms may have made several events of one position; each gets the count.
            guard let refusals = carriedRefusals[batch.events[index].position] else { continue }
            batch.events[index].refusals = max(batch.events[index].refusals, refusals)
        }
        let settled = settledPosition
        carriedRefusals = carriedRefusals.filter { $0.key >= settled }
    }

    /// Ends the waits for a next attempt, and no other waits.
    func resume(_ now: Instant) {
        breaker.resume(now)
        pendingLetters.resume(now)
        userQueues?.resume()
        troubleUntil = troubleUntil.map { min($0, now) }
        for backfill in backfills { backfill.resume(now) }
    }

    private func nextBatch(_ now: Instant) -> OutboundBatch? {
        let partial = isPartialDue(now)
        guard userQueues != nil else { return intake?.builder.take(partial: partial) }
        if let due = userQueues?.takeDue(
            now, maximumEvents: setting.policy.batchEvents, maximumBytes: setting.policy.batchBytes)
        {
            return due
        }
        while userQueues?.hasRoom(now) == true, var batch = intake?.builder.take(partial: partial) {
            let ready = userQueues?.admit(batch, now)
            intake?.builder.recycle(&batch)
            if let ready, !ready.events.isEmpty { return ready }
        }
        return nil
    }

    /// The maximum number of batches in flight, those that wait for a retry included.
    var inFlight: Int { max(1, min(setting.policy.inFlight, destination.limits.maximumInFlight)) }

    /// Whether a batch that is not full may be sent.
    private func isPartialDue(_ now: Instant) -> Bool {
        guard let since = intake?.builder.collectingSince else { return false }
        let wait = self.wait
        let age = now - since
        guard age >= wait else { return false }
        // It takes along the events that are there, but does not wait for those that can't be read now or that a slow
        // script has yet to route.
        let longest = wait == .zero ? Self.slowBatchWait : wait + Self.turnLimit
        return intake?.isExhausted == true || troubleUntil != nil || age >= longest
    }

    // MARK: Settling

    func apply(_ id: UInt64, _ settlement: DeliveryClaim.Settlement, _ now: Instant) {
        let wallClock = latencies == nil ? 0 : setting.clock.wallClock()
        let settled = window.settle(
            id, settlement, now: now, failingSince: userQueues == nil ? nil : { self.userQueues?.failingSince($0) },
            bound: .init(giveUpAfter: setting.policy.giveUpAfter, attempts: setting.policy.attempts),
            delivered: { latencies?.add(wallClock.saturatingSubtract($0), count: $1) },
            reuse: { intake?.builder.recycle(&$0) })
        latencies?.flush()
        guard let result = settled else { return }
        if result.delivered > 0 {
            ledger.update {
                $0.delivered += UInt64(result.delivered)
                $0.positionDelivered = max($0.positionDelivered, result.deliveredPosition &+ 1)
            }
        }
        for user in result.settledUsers { userQueues?.settled(user, now) }
        if !result.parked.events.isEmpty {
            userQueues?.park(result.parked, after: result.parkedAfter, now, using: &random)
            ledger.update { $0.retries += 1 }
            note(result.parkedReason ?? "", result.answer ?? "")
            if unsavedSince == nil { unsavedSince = now }
        }
        if let first = result.refused.first {
            let time = setting.clock.wallClock()
            for refused in result.refused { pendingLetters.add(refused, at: time) }
            note(first.reason, first.answer)
        }
        if result.holdReason != nil || result.retryReason != nil, unsavedSince == nil {
            // A destination may refuse because it can't make its data durable. Its next checkpoint then fails, and the
            // destination is opened again.
            unsavedSince = now
        }
        updateBreaker(result, now)
    }

    func flushDeadLetters(_ now: Instant) {
        guard !pendingLetters.isEmpty, pendingLetters.retryAt.map({ now >= $0 }) ?? true else { return }
        do {
            let reason = pendingLetters.first?.reason ?? ""
            let stored = try pendingLetters.flush(now, originals: setting.log, random: &random)
            ledger.update { $0.deadLettered += UInt64(stored) }
            setting.telemetry.emit(EventsDeadLettered(destination: name, count: stored, reason: reason))
        } catch {
            let failure = error as? DeadLetterFailure
            ledger.update { $0.deadLettered += UInt64(failure?.stored ?? 0) }
            let reason = "cannot store its dead letters: \(failure?.cause ?? error)"
            note(reason)
            setting.telemetry.emit(DeliveryHeld(destination: name, reason: reason))
        }
    }

    // MARK: The cursor

    /// Everything below is settled.
    var settledPosition: UInt64 {
        var position = intake?.position ?? checkpointed
        if let event = intake?.builder.first { position = min(position, event.position) }
        if let event = window.first { position = min(position, event.position) }
        if let event = userQueues?.outlook(setting.clock.now()).first { position = min(position, event.position) }
        if let letter = pendingLetters.first { position = min(position, letter.position) }
        return position
    }

    /// Records settled positions before each offer and at the end of a turn, so that a kill doesn't repeat them.
    func noteSettled() {
        guard destination.settlesAtOnce, let before = intake?.settledBefore else { return }
        var settled = SettledPositions(position: settledPosition, ranges: before)
        // With `order: user`, waiting events may lie at any position, so only the position is recorded.
        if userQueues == nil {
            let unsettled = window.unsettled + pendingLetters.unsettled
            settled = intake?.settled(below: settledPosition, except: unsettled) ?? settled
        }
        if settled != noted {
            noted = settled
            setting.cursors.settle(name, .delivery, settled)
        }
        for backfill in backfills where backfill.isActive {
            guard let passage = backfill.passage, let settled = backfill.settled, settled != backfill.noted else {
                continue
            }
            backfill.noted = settled
            setting.cursors.settle(name, passage, settled)
        }
    }

    func noteProgress(_ now: Instant) {
        if unsavedSince == nil, intake != nil, settledPosition != checkpointed || isReplayUnsaved { unsavedSince = now }
    }

    /// - Parameter isLast: no later checkpoint follows, so everything must be durable when this returns.
    func checkpoint(_ now: Instant, isLast: Bool = false) {
        // Read before the checkpoint, which doesn't cover events that settle while it runs.
        let position = settledPosition
        let replay = replayProgress(isLast: isLast)
        do {
            let cursor =
                isLast
                ? Cursor(position: position, state: try destination.checkpoint() ?? [])
                : try destination.checkpoint(settled: position)
            if let cursor {
                save(cursor, replay)
                checkpointed = cursor.position
                trouble.reset()
            }
            unsavedSince = checkpointed == position && !isReplayUnsaved ? nil : now
            // Done at most once per checkpoint interval: a busy worker doesn't notice the cost, and idle workers, of
            // which there may be hundreds, keep no memory.
            if window.count == 0 { intake?.releaseMemory() }
        } catch {
            restart("cannot make delivered events durable", error, now)
        }
    }

    // MARK: Waiting

    /// When the next timed step is due. No wake announces those.
    func nextTurn(_ now: Instant) -> Instant? {
        var due: Instant?
        func consider(_ time: Instant?) {
            if let time { due = min(due ?? time, time) }
        }
        // While dead letters wait, nothing is read, so a read's retry is not due either.
        if pendingLetters.isEmpty || intake == nil { consider(troubleUntil) }
        guard intake != nil else { return due }
        if let unsavedSince { consider(unsavedSince + setting.policy.checkpointInterval) }
        considerBackfills(now, consider)
        if intake?.builder.collectingSince != nil { consider(now + Self.longestUnread) }
        let mayTake =
            window.count + backfillsOffered < inFlight && intake?.builder.isEmpty == false
            && userQueues?.hasRoom(now) ?? true
        let queueDue = window.count + backfillsOffered < inFlight ? userQueues?.outlook(now).due : nil
        if !pendingLetters.isEmpty {
            consider(pendingLetters.retryAt)
        } else if let rateUntil, breaker.mayOffer(rateUntil) {
            consider(rateUntil)
        } else if case .open(let until) = breaker.state {
            if window.hasWaiting {
                consider(until)
            } else {
                if mayTake { consider(max(until, batchDue(now))) }
                if let queueDue { consider(max(until, queueDue)) }
            }
        } else if breaker.state == .closed {
            if mayTake { consider(batchDue(now)) }
            consider(queueDue)
        }
        return due
    }

    /// When the collected batch may be sent.
    private func batchDue(_ now: Instant) -> Instant {
        guard let since = intake?.builder.collectingSince else { return now }
        return max(now, since + wait)
    }
}
