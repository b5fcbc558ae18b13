import Events
import Platform
import Telemetry

// The steps of a worker's turn that serve backfills. They run when live delivery has nothing to do. They take none of
// live delivery's places in flight and, apart from the service's rate limit, none of its time.
extension DeliveryWorker {
    // MARK: Beginning and ending

    private func backfill(of kind: Backfill.Kind) -> Backfill { backfills[kind == .retry ? 0 : 1] }

    /// Starts a requested replay and a requested retry of dead letters, and cancels a replay that was withdrawn.
    func beginBackfills(_ now: Instant) {
        guard setting.backfillRouter != nil, intake != nil else { return }
        let backfill = backfill(of: .replay)
        let replay = setting.cursors.replay(of: name)
        if backfill.isActive, backfill.replay?.id != replay?.id {
            // The next replay starts when this one has ended.
            backfill.isCancelled = true
        } else if !backfill.isActive, let replay {
            attempt(backfill, now) {
                try begin(replay, backfill, now)
            }
        }
        beginRetry(now)
    }

    private func begin(_ replay: Replay, _ backfill: Backfill, _ now: Instant) throws {
        guard let router = try setting.backfillRouter?(replay, setting.interruption) else { return }
        backfill.replay = replay
        backfill.progress = replay.progress
        let settled = settled(replay.passage)
        backfill.progress.position = max(backfill.progress.position, settled?.position ?? 0)
        backfill.missing = ReplayLog.Missing()
        backfill.bucket = replay.eventsPerSecond.map { TokenBucket(perSecond: $0, burst: $0, now: now) }
        begin(
            backfill, ReplayLog(setting.log, end: replay.end, missing: backfill.missing),
            at: backfill.progress.position, router, warmup(before: backfill.progress.position, router),
            maximumEvents: replay.eventsPerSecond ?? .max, settled: settled?.ranges ?? [])
    }

    private func beginRetry(_ now: Instant) {
        let backfill = backfill(of: .retry)
        guard !backfill.isActive else { return }
        attempt(backfill, now) {
            guard var letters = try deadLetters.nextRetry(),
                let router = try setting.backfillRouter?(nil, setting.interruption)
            else {
                backfill.isContinued = false
                return
            }
            if !backfill.isContinued { backfill.progress = Replay.Progress(position: 0) }
            backfill.isContinued = true
            guard !letters.letters.isEmpty else {
                try deadLetters.finish(letters)
                backfill.troubleUntil = now
                return
            }
            var originals = OriginalEvents(log: setting.log)
            for index in letters.letters.indices { try originals.fillOrigin(&letters.letters[index]) }
            let log = RetryLog(letters.letters)
            backfill.letters = letters
            backfill.lastError = nil
            let settled = settled(.retry(tag: letters.tag))
            let ranges = settled.map { $0.position > 0 ? [0..<$0.position] + $0.ranges : $0.ranges } ?? []
            begin(
                backfill, log, at: log.start, RetryRouter(router, letters.letters), nil, maximumEvents: .max,
                settled: ranges)
        }
    }

    private func begin(
        _ backfill: Backfill, _ log: any EventLog, at position: UInt64, _ router: any EventRouter,
        _ warmup: StateWarmup?, maximumEvents: Int, settled: [Range<UInt64>]
    ) {
        let (policy, limits) = (setting.policy, destination.limits)
        // Half of the burst, so that the other half is left for live events.
        let paced = policy.rateLimit?.maximumBatch(eventsPerRequest: limits.eventsPerRequest) ?? .max
        backfill.begin(
            log, at: position, router: router, warmup,
            maximumEvents: min(policy.batchEvents, limits.maximumBatchEvents, max(1, paced / 2), max(1, maximumEvents)),
            maximumBytes: min(policy.batchBytes, limits.maximumBatchBytes), settled: settled)
    }

    /// The positions of a passage that were settled before a restart.
    private func settled(_ passage: Passage) -> SettledPositions? {
        destination.settlesAtOnce ? setting.cursors.settled(of: name, passage) : nil
    }

    private func attempt(_ backfill: Backfill, _ now: Instant, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            backfill.troubleUntil = now + backfill.trouble.fail(using: &random)
            note(backfill, "\(error)")
        }
    }

    /// Ends a pass whose events are all settled, after the destination and the stores have made that durable.
    private func finish(_ backfill: Backfill, _ now: Instant) {
        checkpoint(now, isLast: true)
        // The checkpoint failed, and the destination starts over.
        guard backfill.isActive else { return }
        attempt(backfill, now) {
            if let replay = backfill.replay {
                setting.cursors.finish(replay, of: name)
                publishBackfills(ending: .done)
                setting.telemetry.emit(ReplayDone(destination: name, id: replay.id, progress: backfill.progress))
                backfill.end()
                beginBackfills(now)
            } else if let letters = backfill.letters {
                // Commit first: a position that is kept with the destination's data must be on disk before the letters
                // are removed.
                try setting.cursors.commit()
                try deadLetters.finish(letters)
                publishBackfills(ending: .done)
                backfill.end()
                beginRetry(now)
            }
        }
    }

    // MARK: Reading, offering, settling

    var backfillsOffered: Int { backfills.reduce(0) { $0 + $1.offered } }

    /// The places in flight for all backfills: at most half, so that live events need not wait for one.
    private var share: Int { max(1, min(setting.policy.backfillInFlight ?? .max, inFlight / 2)) }

    /// Whether live delivery has nothing to send at `time`, and the service is not known to be failing.
    private func isLiveQuiet(at time: Instant) -> Bool {
        guard intake != nil else { return false }
        let isWell =
            switch breaker.state {
            case .closed: true
            // The failed events were given up, and no live event is left to be the probe.
            case .open(let until):
                time >= until && window.count == 0 && intake?.builder.isEmpty == true && userQueues?.isEmpty ?? true
            case .probing: false
            }
        return isWell && intake?.builder.isSealed == false && !window.hasWaiting && pendingLetters.isEmpty
            && rateUntil == nil && troubleUntil == nil
    }

    /// - Returns: whether there was work to do.
    func backfill(_ now: Instant, _ bound: TurnBound) -> Bool {
        var worked = false
        for backfill in backfills where !worked {
            if backfill.isCancelled, backfill.offered == 0 {
                publishBackfills(ending: .cancelled)
                backfill.end()
                beginBackfills(now)
            }
            if !backfill.isActive, let until = backfill.troubleUntil, now >= until {
                backfill.troubleUntil = nil
                beginBackfills(now)
            }
            guard backfill.isActive, !backfill.isCancelled, isLiveQuiet(at: now) else { continue }
            flush(backfill, now)
            worked = read(backfill, now, bound)
            flush(backfill, now)
            worked = offer(backfill, now) || worked
            if backfill.isDone, backfill.troubleUntil == nil {
                finish(backfill, now)
                worked = worked || (backfill.isActive && backfill.troubleUntil == nil)
            }
        }
        return worked
    }

    private func read(_ backfill: Backfill, _ now: Instant, _ bound: TurnBound) -> Bool {
        do {
            let worked = try backfill.read(now, bound, wallClock: setting.clock.wallClock)
            if let until = backfill.troubleUntil, now >= until { backfill.troubleUntil = nil }
            return worked
        } catch {
            backfill.troubleUntil = now + backfill.trouble.fail(using: &random)
            note(backfill, "\(error)")
            return false
        }
    }

    private func offer(_ backfill: Backfill, _ now: Instant) -> Bool {
        guard backfill.pendingLetters.isEmpty, backfill.breaker.mayOffer(now),
            backfill.rateUntil.map({ now >= $0 }) ?? true, window.count + backfillsOffered < inFlight,
            backfillsOffered < share, backfill.prepare(maximumInFlight: share)
        else { return false }
        // A plugin that keeps a position with its data must not record one that live delivery has yet to settle.
        let livePosition = settledPosition
        guard backfill.window.nextPosition < livePosition else { return false }
        backfill.rateUntil = nil
        let count = backfill.window.nextCount
        let wait = max(backfill.bucket?.wait(for: count, now) ?? .zero, gate?.waitLeavingHalf(for: count, now) ?? .zero)
        if wait > .zero {
            backfill.rateUntil = now + wait
            return false
        }
        backfill.bucket?.take(count, now)
        gate?.pass(count, now)
        guard let next = backfill.window.offerFirst(round: backfill.breaker.offered()) else { return false }
        noteSettled()
        var batch = next.batch
        batch.livePosition = livePosition
        deliver(batch, SettlementInbox.Offer(backfill: backfill.kind, id: next.id))
        return true
    }

    func apply(_ id: UInt64, _ settlement: DeliveryClaim.Settlement, to kind: Backfill.Kind, _ now: Instant) {
        let backfill = backfill(of: kind)
        guard let result = backfill.settle(id, settlement, now) else { return }
        if result.delivered > 0 {
            let count = UInt64(result.delivered)
            backfill.progress.delivered &+= count
            ledger.update { if kind == .replay { $0.replayed &+= count } else { $0.retried &+= count } }
        }
        if let first = result.refused.first {
            let time = setting.clock.wallClock()
            for refused in result.refused { backfill.pendingLetters.add(refused, at: time) }
            note(backfill, first.reason, first.answer)
        }
        if let reason = result.holdReason {
            backfill.breaker.held(round: result.round, now: now)
            note(backfill, reason, result.answer ?? "")
        } else if let reason = result.retryReason {
            backfill.breaker.failed(
                round: result.round, now: now, asked: result.retryAfter, progress: result.delivered > 0, using: &random)
            note(backfill, reason, result.answer ?? "")
        } else {
            backfill.breaker.succeeded(round: result.round)
        }
        if result.holdReason != nil || result.retryReason != nil, unsavedSince == nil {
            // As for live events, the next checkpoint shows whether the destination must be opened again.
            unsavedSince = now
        }
    }

    private func flush(_ backfill: Backfill, _ now: Instant) {
        guard !backfill.pendingLetters.isEmpty, let log = backfill.letters == nil ? setting.log : backfill.log else {
            return
        }
        var stored = 0
        let reason = backfill.pendingLetters.first?.reason ?? ""
        do {
            stored = try backfill.pendingLetters.flush(now, originals: log, random: &random)
        } catch {
            let failure = error as? DeadLetterFailure
            stored = failure?.stored ?? 0
            note(backfill, "cannot store its dead letters: \(failure?.cause ?? error)")
        }
        guard stored > 0 else { return }
        backfill.progress.deadLettered &+= UInt64(stored)
        ledger.update { $0.deadLettered &+= UInt64(stored) }
        setting.telemetry.emit(EventsDeadLettered(destination: name, count: stored, reason: reason))
    }

    // MARK: Progress

    /// Whether the store has yet to get the replay's progress.
    var isReplayUnsaved: Bool {
        let backfill = backfill(of: .replay)
        guard let replay = backfill.replay, backfill.isActive else { return false }
        return backfill.settledPosition != replay.progress.position
    }

    /// The replay's progress to store with the destination's next cursor.
    func replayProgress(isLast: Bool) -> Replay.Progress? {
        let backfill = backfill(of: .replay)
        guard backfill.replay != nil, backfill.isActive else { return nil }
        var progress = backfill.progress
        progress.position = backfill.settledPosition
        defer { backfill.asked = progress }
        // A cursor from the previous call covers only the progress at that time.
        return !isLast && destination.checkpointsLate ? backfill.asked : progress
    }

    func save(_ cursor: Cursor, _ progress: Replay.Progress?) {
        let backfill = backfill(of: .replay)
        guard let progress, var replay = backfill.replay else { return setting.cursors.advance(name, to: cursor) }
        replay.progress = progress
        backfill.replay = replay
        setting.cursors.advance(name, to: cursor, replay)
    }

    /// Considers when the next timed backfill step is due. No wake announces those.
    func considerBackfills(_ now: Instant, _ consider: (Instant) -> Void) {
        let hasPlace = window.count + backfillsOffered < inFlight && backfillsOffered < share
        let isLiveQuiet = isLiveQuiet(at: now)
        if !isLiveQuiet, case .open(let until) = breaker.state, self.isLiveQuiet(at: until),
            backfills.contains(where: \.isActive)
        {
            consider(until)
        }
        for backfill in backfills where !backfill.isActive || (isLiveQuiet && !backfill.isCancelled) {
            if let until = backfill.troubleUntil { consider(until) }
            guard backfill.isActive else { continue }
            if !backfill.pendingLetters.isEmpty {
                if let until = backfill.pendingLetters.retryAt { consider(until) }
            } else if hasPlace, backfill.hasNext, backfill.window.nextPosition < settledPosition {
                if let until = backfill.rateUntil, backfill.breaker.mayOffer(until) {
                    consider(until)
                } else if case .open(let until) = backfill.breaker.state {
                    consider(until)
                }
            }
        }
    }

    private func note(_ backfill: Backfill, _ message: String, _ answer: String = "") {
        backfill.lastError = .init(message: message, answer: answer, at: setting.clock.wallClock())
    }

    /// Publishes the progress of backfills to other threads.
    /// - Parameter ending: the final state of a backfill that ends now.
    func publishBackfills(ending: DeliveryStatus.Backfill.State? = nil) {
        for backfill in backfills where backfill.isActive {
            var progress = backfill.progress
            progress.position = backfill.settledPosition
            let isEnding = ending == .cancelled ? backfill.isCancelled : backfill.isDone
            let status = DeliveryStatus.Backfill(
                state: isEnding ? ending ?? backfill.state : backfill.state, lastError: backfill.lastError,
                replay: backfill.replay, progress: progress)
            ledger.update { if backfill.kind == .replay { $0.replay = status } else { $0.retry = status } }
        }
    }
}
