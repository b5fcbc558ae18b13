import Platform

/// What a connection does so that the next process can go on with it. Without a slot, nothing.
extension ClientConnection {
    /// Whether something that it took is not durable yet. If its connection outlives the process, it is not closed
    /// before.
    var isWaitingForDisk: Bool { stream.isWaitingForDisk || slot?.record.isWaiting ?? false }

    /// Bytes of an unfinished line or request in its ring.
    var heldInRing: Int { slot.map { $0.record.isWaiting ? 0 : $0.record.held } ?? 0 }

    /// The place in the client's stream of the input that was not processed.
    private var place: UInt64 { (slot?.record.consumed ?? 0) - UInt64(pending.count - taken) }

    /// The stream is about to get input, which ends where reading stopped.
    /// - Parameter count: its bytes.
    func placeInput(_ count: Int) {
        guard let slot else { return }
        slot.base = slot.record.consumed - UInt64(count)
        slot.record.settle(durable: admission.durableEnd)
    }

    /// The stream has processed input.
    func noteProgress() {
        guard let slot, !stream.hasEnded else { return }
        slot.record.advance(to: stream.settled(place), stream.keptState)
        slot.record.settle(durable: admission.durableEnd)
    }

    func beginAnswer() {
        if let slot, slot.record.isHTTP { slot.record.beginAnswer() }
    }

    /// Notes which answers are sent. For the end of a turn.
    func noteAnswers() {
        guard let slot, isOpen else { return }
        slot.record.settle(durable: admission.durableEnd)
        if transport.unsent == 0 || isGone, let number = stream.answered(settled: stream.settled(place)) {
            slot.record.noteAnswered(number)
        }
    }

    /// Goes on where an earlier process stopped.
    /// - Returns: false: it cannot go on, and is to be closed.
    func resume() -> Bool {
        guard let slot, let held = transport.resume(slot) else { return false }
        pending = held
        return true
    }

    /// The process ends, and the next one goes on with this connection.
    func leaveToNext() {
        guard isOpen else { return }
        guard slot != nil, !isGone, !stream.hasEnded, !isFinished, slot?.record.hasUncertainAnswer != true else {
            return close()
        }
        transport.close(discardingInput: false)
    }
}
