import Platform

/// What a connection does so that the next process can go on with it. Without a slot, nothing.
extension ClientConnection {
    /// Whether something that it took is not durable yet. If its connection outlives the process, it is not closed before.
    var isWaitingForDisk: Bool { stream.isWaitingForDisk || slot?.record.isWaiting ?? false }

    /// The place in the client's stream of the input that was not processed.
    private var place: UInt64 { (slot?.record.peeked ?? 0) - UInt64(pending.count - taken) }

    /// The stream is about to get the next input.
    func placeInput() { slot?.base = place }

    /// The stream has processed input.
    func noteProgress() {
        guard let slot, !stream.hasEnded else { return }
        slot.record.advance(to: stream.settled(place), stream.keptState)
    }

    func beginAnswer() {
        if let slot, slot.record.isHTTP { slot.record.beginAnswer() }
    }

    /// Consumes the input that the next process does not need. For the end of a turn.
    func settleInput(_ scratch: inout [UInt8]) {
        guard let slot, isOpen else { return }
        if transport.unsent == 0 || isGone, let number = stream.answered(settled: stream.settled(place)) {
            slot.record.noteAnswered(number)
        }
        guard slot.record.unread > 0 else { return }
        transport.settle(slot, durable: admission.durableEnd, isQuiet: !transport.canRead, &scratch)
    }

    /// Goes on where an earlier process stopped.
    /// - Returns: false: it cannot go on, and is to be closed.
    func resume() -> Bool {
        guard let slot, let kept = transport.resume(slot) else { return false }
        pending = kept
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
