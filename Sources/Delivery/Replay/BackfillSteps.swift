import Events
import Platform
import Telemetry

// The steps of a worker's turn that serve backfills. They run when live delivery has nothing to do. They take none of
// live delivery's places in flight and, apart from the service's rate limit, none of its time.
extension DeliveryWorker {
    // MARK: Beginning and ending

    private func lane(_ kind: Backfill.Kind) -> Backfill { backfills[kind == .retry ? 0 : 1] }

    /// Starts a requested replay and a requested retry of dead letters, and cancels a replay that was withdrawn.
    func beginBackfills(_ now: Instant) {
        guard setting.backfillRouter != nil, intake != nil else { return }
        let lane = lane(.replay)
        let replay = setting.cursors.replay(of: name)
        if lane.isActive, lane.replay?.id != replay?.id {
            // The next replay starts when this one has ended.
            lane.isCancelled = true
        } else if !lane.isActive, let replay {
            attempt(lane, now) {
                try begin(replay, lane, now)
            }
        }
        beginRetry(now)
    }

    private func begin(_ replay: Replay, _ lane: Backfill, _ now: Instant) throws {
        guard let router = try setting.backfillRouter?(replay, setting.interruption) else { return }
        lane.replay = replay
        lane.progress = replay.progress
        let settled = settled(replay.passage)
        lane.progress.position = max(lane.progress.position, settled?.position ?? 0)
        lane.missing = ReplayLog.Missing()
        lane.bucket = replay.eventsPerSecond.map { TokenBucket(perSecond: $0, burst: $0, now: now) }
        begin(
            lane, ReplayLog(setting.log, end: replay.end, missing: lane.missing), at: lane.progress.position, router,
            recollection(before: lane.progress.position, router),
            maximumEvents: replay.eventsPerSecond ?? .max, settled: settled?.ranges ?? [])
    }

    private func beginRetry(_ now: Instant) {
        let lane = lane(.retry)
        guard !lane.isActive else { return }
        attempt(lane, now) {
            guard let letters = try deadLetters.nextRetry(),
                let router = try setting.backfillRouter?(nil, setting.interruption)
            else {
                lane.isContinued = false
                return
            }
            if !lane.isContinued { lane.progress = Replay.Progress(position: 0) }
            lane.isContinued = true
            guard !letters.letters.isEmpty else {
                try deadLetters.finish(letters)
                lane.troubleUntil = now
                return
            }
            let log = RetryLog(letters.letters)
            lane.letters = letters
            lane.lastError = nil
            let settled = settled(.retry(tag: letters.tag))
            let ranges = settled.map { $0.position > 0 ? [0..<$0.position] + $0.ranges : $0.ranges } ?? []
            begin(
                lane, log, at: log.start, RetryRouter(router, letters.letters), nil, maximumEvents: .max,
                settled: ranges)
        }
    }

    private func begin(
        _ lane: Backfill, _ log: any EventLog, at position: UInt64, _ router: any EventRouter,
        _ recollection: StateWarmup?,
        maximumEvents: Int, settled: [Range<UInt64>]
    ) {
        let (policy, limits) = (setting.policy, destination.limits)
        // Half of the burst, so that the other half is left for live events.
        let paced = policy.rateLimit?.maximumBatch(eventsPerRequest: limits.eventsPerRequest) ?? .max
        lane.begin(
            log, at: position, router: router, recollection,
            maximumEvents: min(policy.batchEvents, limits.maximumBatchEvents, max(1, paced / 2), max(1, maximumEvents)),
            maximumBytes: min(policy.batchBytes, limits.maximumBatchBytes), settled: settled)
    }

    /// The positions of a passage that were settled before a restart.
    private func settled(_ passage: Passage) -> SettledPositions? {
        destination.settlesAtOnce ? setting.cursors.settled(of: name, passage) : nil
    }

    private func attempt(_ lane: Backfill, _ now: Instant, _ body: () throws -> Void) {
        do {
            try body()
        } catch {
            lane.troubleUntil = now + lane.trouble.fail(using: &random)
            note(lane, "\(error)")
        }
    }

    /// Ends a pass whose events are all settled, after the destination and the stores have made that durable.
    private func finish(_ lane: Backfill, _ now: Instant) {
        checkpoint(now, isLast: true)
        // The checkpoint failed, and the destination starts over.
        guard lane.isActive else { return }
        attempt(lane, now) {
            if let replay = lane.replay {
                setting.cursors.finish(replay, of: name)
                publishBackfills(ending: .done)
                setting.telemetry.emit(ReplayDone(destination: name, id: replay.id, progress: lane.progress))
                lane.end()
                beginBackfills(now)
            } else if let letters = lane.letters {
                // Commit first: a position that is kept with the destination's data must be on disk before the letters
                // are removed.
                try setting.cursors.commit()
                try deadLetters.finish(letters)
                publishBackfills(ending: .done)
                lane.end()
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
        guard let intake else { return false }
        let isWell =
            switch breaker.state {
            case .closed: true
            // The failed events were given up, and no live event is left to be the probe.
            case .open(let until):
                time >= until && window.count == 0 && intake.builder.isEmpty && lanes?.isEmpty ?? true
            case .probing: false
            }
        return isWell && intake.builder.sealed == nil && !window.hasWaiting && desk.isEmpty && rateUntil == nil
            && troubleUntil == nil
    }

    /// - Returns: whether there was work to do.
    func backfill(_ now: Instant, _ bound: TurnBound) -> Bool {
        var worked = false
        for lane in backfills where !worked {
            if lane.isCancelled, lane.offered == 0 {
                publishBackfills(ending: .cancelled)
                lane.end()
                beginBackfills(now)
            }
            if !lane.isActive, let until = lane.troubleUntil, now >= until {
                lane.troubleUntil = nil
                beginBackfills(now)
            }
            guard lane.isActive, !lane.isCancelled, isLiveQuiet(at: now) else { continue }
            flush(lane, now)
            worked = read(lane, now, bound)
            flush(lane, now)
            worked = offer(lane, now) || worked
            if lane.isDone, lane.troubleUntil == nil {
                finish(lane, now)
                worked = worked || (lane.isActive && lane.troubleUntil == nil)
            }
        }
        return worked
    }

    private func read(_ lane: Backfill, _ now: Instant, _ bound: TurnBound) -> Bool {
        do {
            let worked = try lane.read(now, bound, wallClock: setting.clock.wallClock)
            if let until = lane.troubleUntil, now >= until { lane.troubleUntil = nil }
            return worked
        } catch {
            lane.troubleUntil = now + lane.trouble.fail(using: &random)
            note(lane, "\(error)")
            return false
        }
    }

    private func offer(_ lane: Backfill, _ now: Instant) -> Bool {
        guard lane.desk.isEmpty, lane.breaker.mayOffer(now), lane.rateUntil.map({ now >= $0 }) ?? true,
            window.count + backfillsOffered < inFlight, backfillsOffered < share, lane.prepare(maximumInFlight: share)
        else { return false }
        // A plugin that keeps a position with its data must not record one that live delivery has yet to settle.
        let livePosition = settledPosition
        guard lane.window.nextPosition < livePosition else { return false }
        lane.rateUntil = nil
        let count = lane.window.nextCount
        let wait = max(lane.bucket?.wait(for: count, now) ?? .zero, gate?.waitLeavingHalf(for: count, now) ?? .zero)
        if wait > .zero {
            lane.rateUntil = now + wait
            return false
        }
        lane.bucket?.take(count, now)
        gate?.pass(count, now)
        guard let next = lane.window.offerFirst(round: lane.breaker.offered()) else { return false }
        noteSettled()
        var batch = next.batch
        batch.livePosition = livePosition
        let (inbox, offer) = (inbox, SettlementInbox.Offer(backfill: lane.kind, id: next.id))
        destination.deliver(batch, DeliveryClaim { inbox.put(offer, $0) })
        return true
    }

    func apply(_ id: UInt64, _ settlement: DeliveryClaim.Settlement, to kind: Backfill.Kind, _ now: Instant) {
        let lane = lane(kind)
        guard let result = lane.settle(id, settlement, now) else { return }
        if result.delivered > 0 {
            let count = UInt64(result.delivered)
            lane.progress.delivered &+= count
            ledger.update { if kind == .replay { $0.replayed &+= count } else { $0.retried &+= count } }
        }
        if let first = result.refused.first {
            let time = setting.clock.wallClock()
            for refused in result.refused { lane.desk.add(refused, at: time) }
            note(lane, first.reason, first.answer)
        }
        if let reason = result.holdReason {
            lane.breaker.held(round: result.round, now: now)
            note(lane, reason, result.answer ?? "")
        } else if let reason = result.retryReason {
            lane.breaker.failed(
                round: result.round, now: now, asked: result.retryAfter, progress: result.delivered > 0, using: &random)
            note(lane, reason, result.answer ?? "")
        } else {
            lane.breaker.succeeded(round: result.round)
        }
        if result.holdReason != nil || result.retryReason != nil, unsavedSince == nil {
            // As for live events, the next checkpoint shows whether the destination must be opened again.
            unsavedSince = now
        }
    }

    private func flush(_ lane: Backfill, _ now: Instant) {
        guard !lane.desk.isEmpty, let log = lane.letters == nil ? setting.log : lane.log else { return }
        var stored = 0
        let reason = lane.desk.first?.reason ?? ""
        do {
            stored = try lane.desk.flush(now, originals: log, random: &random)
        } catch {
            let failure = error as? DeadLetterFailure
            stored = failure?.stored ?? 0
            note(lane, "cannot store its dead letters: \(failure?.cause ?? error)")
        }
        guard stored > 0 else { return }
        lane.progress.deadLettered &+= UInt64(stored)
        ledger.update { $0.deadLettered &+= UInt64(stored) }
        setting.telemetry.emit(EventsDeadLettered(destination: name, count: stored, reason: reason))
    }

    // MARK: Progress

    /// Whether the store has yet to get the replay's progress.
    var isReplayUnsaved: Bool {
        let lane = lane(.replay)
        guard let replay = lane.replay, lane.isActive else { return false }
        return lane.settledPosition != replay.progress.position
    }

    /// The replay's progress to store with the destination's next cursor.
    func replayProgress(isLast: Bool) -> Replay.Progress? {
        let lane = lane(.replay)
        guard lane.replay != nil, lane.isActive else { return nil }
        var progress = lane.progress
        progress.position = lane.settledPosition
        defer { lane.asked = progress }
        // A cursor from the previous call covers only the progress at that time.
        return !isLast && destination.checkpointsLate ? lane.asked : progress
    }

    func save(_ cursor: Cursor, _ progress: Replay.Progress?) {
        let lane = lane(.replay)
        guard let progress, var replay = lane.replay else { return setting.cursors.advance(name, to: cursor) }
        replay.progress = progress
        lane.replay = replay
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
        for lane in backfills where !lane.isActive || (isLiveQuiet && !lane.isCancelled) {
            if let until = lane.troubleUntil { consider(until) }
            guard lane.isActive else { continue }
            if !lane.desk.isEmpty {
                if let until = lane.desk.retryAt { consider(until) }
            } else if hasPlace, lane.hasNext, lane.window.nextPosition < settledPosition {
                if let until = lane.rateUntil, lane.breaker.mayOffer(until) {
                    consider(until)
                } else if case .open(let until) = lane.breaker.state {
                    consider(until)
                }
            }
        }
    }

    private func note(_ lane: Backfill, _ message: String, _ answer: String = "") {
        lane.lastError = .init(message: message, answer: answer, at: setting.clock.wallClock())
    }

    /// Publishes the progress of backfills to other threads.
    /// - Parameter ending: the final state of a backfill that ends now.
    func publishBackfills(ending: DeliveryStatus.Backfill.State? = nil) {
        for lane in backfills where lane.isActive {
            var progress = lane.progress
            progress.position = lane.settledPosition
            let isEnding = ending == .cancelled ? lane.isCancelled : lane.isDone
            let status = DeliveryStatus.Backfill(
                state: isEnding ? ending ?? lane.state : lane.state, lastError: lane.lastError, replay: lane.replay,
                progress: progress)
            ledger.update { if lane.kind == .replay { $0.replay = status } else { $0.retry = status } }
        }
    }
}
