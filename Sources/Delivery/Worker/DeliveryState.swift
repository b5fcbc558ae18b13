import Events
import Platform
import Telemetry

// The state of live delivery: up, retrying, held or failing. Decides it, logs its changes, and publishes it.
extension DeliveryWorker {
    // MARK: Deciding

    /// Opens or closes the breaker by the outcome of a batch. Reports why the destination is held or retried.
    func updateBreaker(_ result: InFlightWindow.Result, _ now: Instant) {
        if let reason = result.holdReason {
            breaker.held(round: result.round, now: now)
            note(reason, result.answer ?? "")
            setting.telemetry.emit(DeliveryHeld(destination: name, reason: reason))
        } else if let reason = result.retryReason {
            breaker.failed(
                round: result.round, now: now, asked: result.retryAfter, progress: result.delivered > 0,
                using: &random)
            note(reason, result.answer ?? "")
            var wait: Duration?
            if case .open(let until) = breaker.state { wait = until - now }
            setting.telemetry.emit(DeliveryRetrying(destination: name, reason: reason, wait: wait))
        } else {
            breaker.succeeded(round: result.round)
        }
    }

    /// Opening, reading or a checkpoint failed. Nothing is read until the next attempt.
    func failed(_ what: String, _ error: any Error, _ now: Instant) {
        troubleUntil = now + trouble.fail(using: &random)
        note("\(what): \(error)")
        setting.telemetry.emit(DeliveryFailing(destination: name, what: what, cause: "\(error)"))
    }

    private var state: DeliveryStatus.State {
        if isStopped { return .stopped }
        if troubleUntil != nil { return .failing }
        if breaker.isHeld || pendingLetters.retryAt != nil { return .held }
        return breaker.state == .closed ? .up : .retrying
    }

    // MARK: Reporting

    /// - Parameter answer: the beginning of the service's answer.
    func note(_ message: String, _ answer: String = "") {
        let time = setting.clock.wallClock()
        ledger.update { $0.lastError = .init(message: message, answer: answer, at: time) }
    }

    /// Publishes the state at the end of a turn to other threads.
    func publish(_ now: Instant) {
        let state = self.state
        let settled = settledPosition
        let unsettled = [
            window.first?.receivedAt, userQueues?.outlook(now).first?.receivedAt, intake?.builder.first?.receivedAt,
            pendingLetters.first?.receivedAt, intake?.unrouted?.receivedAt,
        ].compactMap { $0 }.min()
        var attempt: Instant?
        // Events that were given up are not retried, though the service may still be down.
        if case .open(let until) = breaker.state, unsettled != nil { attempt = until }
        attempt = troubleUntil ?? pendingLetters.retryAt ?? attempt
        let time = setting.clock.wallClock()
        publishBackfills()
        let usersWait = userQueues?.outlook(now).isFailing ?? false

        let recovered = ledger.update { status -> Bool in
            intake?.takeFiltered { status.filtered[$0, default: 0] += $1 }
            status.positionSettled = settled
            status.oldestUnsettled = unsettled
            status.usersWait = usersWait
            status.nextAttempt = attempt.map { time &+ ($0 - now).inNanoseconds }
            guard status.state != state else { return false }
            status.state = state
            status.since = time
            return state == .up
        }
        if recovered { setting.telemetry.emit(DeliveryRecovered(destination: name)) }
    }
}
