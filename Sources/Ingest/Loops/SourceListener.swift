import Events
import Platform
import Synchronization

/// The state that all clients of one source share. Decides whether a new client is admitted.
final class SourceListener: Sendable {
    /// The accepting loop accepts at most `acceptedAtOnce` clients per turn, for at most `acceptingTime`.
    static let acceptedAtOnce = 256
    static let acceptingTime = Duration.microseconds(500)

    let source: String
    let limits: SourceLimits
    let statistics: SourceStatistics
    let notices: LimitNotices
    let descriptors: DescriptorReserve
    let limiter: RateLimiter?
    let transport: Ingest.Transport
    /// Keeps the connections beyond the process; nil: nothing does.
    let keeper: ClientKeeper?
    /// Identifies the source in what is kept.
    let number: UInt64
    /// Where its socket listens.
    let path: String?
    private let admission: Admission
    private let clock: any Clock
    /// One for each event loop, by its number.
    let eventAdmissions: [LoopAdmission]

    /// What the clients of one event loop share. Unchecked: only that loop's thread uses it.
    struct LoopAdmission: @unchecked Sendable {
        let admission: EventAdmission
        let door: HTTPDoor
    }

    init(
        source: String, transport: Ingest.Transport = .unix, limits: SourceLimits, admission: Admission,
        statistics: SourceStatistics, notices: LimitNotices, descriptors: DescriptorReserve,
        limiter: RateLimiter? = nil, keeper: ClientKeeper? = nil, path: String? = nil, clock: any Clock,
        eventAdmissions: [LoopAdmission]
    ) {
        self.source = source
        self.transport = transport
        self.limits = limits
        self.admission = admission
        self.statistics = statistics
        self.notices = notices
        self.descriptors = descriptors
        self.limiter = limiter
        self.keeper = keeper
        self.path = path
        number = ClientKeeper.number(ofSource: source)
        self.clock = clock
        self.eventAdmissions = eventAdmissions
    }

    /// Whether it serves a client that an earlier process has left.
    func keeps(_ client: ClientKeeper.Left) -> Bool {
        keeper != nil && (client.slot.map { $0.record.source == number } ?? (client.path != nil && client.path == path))
    }

    /// The decision about a new client.
    enum Verdict {
        /// - Parameter replacing: a connection of the same user that must be closed to make room.
        case admitted(ClientConnection, replacing: UInt64?)
        case refused
    }

    /// Decides whether an accepted client may stay.
    /// - Parameters:
    ///   - id: unique in the process.
    ///   - loop: the number of the event loop that will serve it.
    ///   - slot: its place in what outlives the process; nil: it has none.
    ///   - isLeft: an earlier process has left it to this one.
    func examine(
        _ client: consuming FileDescriptor, id: UInt64, loop: Int, slot: ClientSlot?, isLeft: Bool = false
    ) -> Verdict {
        let activity = ClientActivity(.init(lastByte: clock.now(), isIdle: false))
        guard let (origin, user, replaced) = admit(client, id: id, activity) else {
            if let slot {
                slot.release()
                client.endConnection()
            }
            return .refused
        }
        descriptors.enter()
        let connection = ClientConnection(
            id: id, socket: client, origin: origin, user: user, listener: self, loop: eventAdmissions[loop],
            activity: activity, slot: slot)
        connection.isLeft = isLeft
        return .admitted(connection, replacing: replaced)
    }

    /// - Returns: the client, and the connection that it replaces; nil: it is refused.
    private func admit(
        _ client: borrowing FileDescriptor, id: UInt64, _ activity: ClientActivity
    ) -> (origin: Origin, user: ClientUser, replaced: UInt64?)? {
        // The peer may have disconnected already; then no answer is needed.
        guard let (origin, user) = identify(client) else { return nil }
        if origin.hasPeer,
            let refusal = admission.refusal(of: origin, groups: admission.asksForGroups ? client.peerGroups() : [])
        {
            statistics.refuse(refusal, at: clock.wallClock())
            return nil
        }
        if statistics.connect() > limits.maximumConnections {
            statistics.disconnect()
            let detail = "source \"\(source)\" already has \(limits.maximumConnections) connections (max_connections)"
            statistics.refuse(Refusal(reason: .notAllowed, detail: detail), at: clock.wallClock())
            notices.note(.maximumConnections, "a client of \(user) was turned away: \(detail)")
            return nil
        }
        let limit = limits.maximumConnectionsPerUser
        let decision = statistics.withUserConnections {
            $0.enter(
                id, user: user, limit: limit, at: activity.state.lastByte, activity: activity,
                hasEnded: { client.peerHasClosed() })
        }
        switch decision {
        case .admitted: return (origin, user, nil)
        case .replacing(let other):
            notices.note(
                .maximumConnectionsPerUser,
                "\(user) already has \(limit) connections; the longest idle one was closed for a new one")
            return (origin, user, other)
        case .refused:
            statistics.disconnect()
            let detail = """
                \(user) already has \(limit) connections to source "\(source)", and none of them is idle \
                (max_connections_per_uid); close some, or raise the limit
                """
            statistics.refuse(Refusal(reason: .maximumConnectionsPerUser, detail: detail), at: clock.wallClock())
            notices.note(.maximumConnectionsPerUser, "a client was turned away: \(detail)")
            return nil
        }
    }
}

extension SourceListener {
    /// Who the client is, and whom its limits belong to. Nil: it is gone.
    private func identify(_ client: borrowing FileDescriptor) -> (Origin, ClientUser)? {
        if transport.isTCP {
            guard let address = try? client.peerAddress() else { return nil }
            client.setNoDelay()
            return (Origin(unknownPeerOf: source), .remote(address))
        }
        guard let peer = try? client.peer() else { return nil }
        return (Origin(source: source, uid: peer.uid, gid: peer.gid, pid: peer.pid), .local(peer.uid))
    }
}

/// Owns the descriptor of a listening socket. The last reference closes it.
final class ListeningSocket: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) throws(SystemError) {
        // Non-blocking, because another process may accept from the same socket.
        try descriptor.setNonBlocking()
        self.descriptor = descriptor
    }
}
