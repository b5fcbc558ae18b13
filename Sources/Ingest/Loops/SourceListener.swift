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
    private let admission: Admission
    private let clock: any Clock
    /// One for each event loop, by its number.
    private let eventAdmissions: [LoopAdmission]

    /// The `EventAdmission` of one event loop. Unchecked: only that loop's thread uses it.
    struct LoopAdmission: @unchecked Sendable {
        let admission: EventAdmission
    }

    init(
        source: String, limits: SourceLimits, admission: Admission, statistics: SourceStatistics,
        notices: LimitNotices, descriptors: DescriptorReserve, clock: any Clock, eventAdmissions: [LoopAdmission]
    ) {
        self.source = source
        self.limits = limits
        self.admission = admission
        self.statistics = statistics
        self.notices = notices
        self.descriptors = descriptors
        self.clock = clock
        self.eventAdmissions = eventAdmissions
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
    func examine(_ client: consuming FileDescriptor, id: UInt64, loop: Int) -> Verdict {
        // The peer may have disconnected already; then no answer is needed.
        guard let peer = try? client.peer() else { return .refused }
        let origin = Origin(source: source, uid: peer.uid, gid: peer.gid, pid: peer.pid)
        if let refusal = admission.refusal(of: origin, groups: admission.asksForGroups ? client.peerGroups() : []) {
            statistics.refuse(refusal, at: clock.wallClock())
            return .refused
        }
        let now = clock.now()
        if statistics.connect() > limits.maximumConnections {
            statistics.disconnect()
            let detail = "source \"\(source)\" already has \(limits.maximumConnections) connections (max_connections)"
            statistics.refuse(Refusal(reason: .notAllowed, detail: detail), at: clock.wallClock())
            notices.note(.maximumConnections, "a client of user \(peer.uid) was turned away: \(detail)")
            return .refused
        }
        let limit = limits.maximumConnectionsPerUser
        let decision = statistics.userConnections.withLock { $0.enter(id, user: peer.uid, limit: limit, at: now) }
        var replaced: UInt64?
        switch decision {
        case .admitted: break
        case .replacing(let other):
            replaced = other
            notices.note(
                .maximumConnectionsPerUser,
                "user \(peer.uid) already has \(limit) connections; the longest idle one was closed for a new one")
        case .refused:
            statistics.disconnect()
            let detail = """
                user \(peer.uid) already has \(limit) connections to source "\(source)", and none of them is idle \
                (max_connections_per_uid); close some, or raise the limit
                """
            statistics.refuse(Refusal(reason: .maximumConnectionsPerUser, detail: detail), at: clock.wallClock())
            notices.note(.maximumConnectionsPerUser, "a client was turned away: \(detail)")
            return .refused
        }
        descriptors.enter()
        return .admitted(
            ClientConnection(
                id: id, socket: client, origin: origin, listener: self, admission: eventAdmissions[loop].admission,
                at: now),
            replacing: replaced)
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
