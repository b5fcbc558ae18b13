import Events
import Platform

extension ClientConnection {
    /// Checks the client's time limits, and what it holds. Called about once a second.
    /// - Returns: whether the connection needs a turn now.
    func check(at now: Instant) -> Bool {
        guard isOpen else { return false }
        let limits = admission.limits
        slot?.rest()
        if now - lastByte >= UserConnections.idleEnough { stream.rest() }
        reportFewerBytes()
        if stream.isStalled, stream.giveUp(at: now, through: admission) { return true }
        if let endedSince {
            if isWaitingForDisk || stream.isStalled {
                self.endedSince = now
                return false
            }
            // The client does not read its last answers.
            guard now - endedSince >= limits.lineTimeout else { return false }
            peerIsGone()
            return true
        }
        // Time counts against the client only if everything that it sent has been read and processed.
        guard !transport.canRead, !isQueued, !stream.isStalled, taken == pending.count, transport.unsent == 0 else {
            return false
        }
        if isInTheMiddle {
            guard now - lineSince >= limits.lineTimeout else { return false }
            end(
                .lineTimeout, .lineTimeout,
                "a line or request was not finished within \(Readable.duration(limits.lineTimeout)) (line_timeout);"
                    + " send each event as one line, and each request at once",
                at: now)
            return true
        }
        if let timeout = limits.idleTimeout, now - lastByte >= timeout, !stream.isWaitingForDisk {
            let silence = Readable.duration(timeout)
            listener.notices.note(
                .idleTimeout, "the connection of \(user) is closed: it sent nothing for \(silence) (idle_timeout)")
            // It may have sent something just now.
            leave()
            return true
        }
        return false
    }

    /// Closes an idle connection, to make room for another one or because of its silence. Anything that the client has
    /// sent since it was chosen is processed first.
    func leave() {
        isLeaving = true
        transport.canRead = true
    }

    func noteTooManyRefusals() {
        let limit = admission.limits.maximumConsecutiveRefusals
        listener.notices.note(
            .maximumConsecutiveRefusals,
            "the connection of \(user) is closed: \(limit) of its lines in a row were refused")
        pending = []
        taken = 0
    }

    // MARK: What it holds

    /// Fewer bytes are reported once they are so many fewer, or about a second later: otherwise, each answer to a small
    /// request would be reported twice.
    private static let reportedLess = 1024

    /// Records the client's activity, and reports the connection's buffered bytes to the source's `UserConnections` if
    /// they have changed. If the source now buffers too much, reports the connection that must be closed.
    func reportUsage(at now: Instant) {
        let (number, hasLine) = (stream.linesEnded, isInTheMiddle)
        if number != lineNumber || !hasLine || !hadLine { lineSince = now }
        (lineNumber, hadLine) = (number, hasLine)
        activity.state = ClientActivity.State(lastByte: lastByte, isIdle: isIdle)
        let bytes = heldBytes
        if bytes > reportedBytes || bytes < reportedBytes - Self.reportedLess { report(bytes) }
    }

    /// Reports fewer bytes than the last time, however many fewer.
    func reportFewerBytes() {
        let bytes = heldBytes
        if bytes < reportedBytes { report(bytes) }
    }

    private func report(_ bytes: Int) {
        reportedBytes = bytes
        let limit = admission.limits.maximumBuffered
        let victim = listener.statistics.withUserConnections { $0.note(id, bytes: bytes, limit: limit) }
        if let victim { onTooMuchBuffered?(victim.victim, victim.bytes) }
    }

    private var heldBytes: Int { stream.heldBytes + pending.capacity + transport.heldBytes + heldInRing }
}
