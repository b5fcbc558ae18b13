import Events
import Platform
import Synchronization

/// What the clients of one source share, and the decision about new ones.
final class SourceListener: Sendable {
    /// Clients that are accepted in one turn of the event loop, unless it takes longer than that.
    static let acceptedAtOnce = 256
    static let acceptingTime = Duration.microseconds(500)

    let source: String
    let limits: SourceLimits
    let statistics: SourceStatistics
    let notices: LimitNotices
    let descriptors: DescriptorReserve
    private let admission: Admission
    private let clock: any Clock
    /// Of each event loop.
    private let doors: [Door]

    /// A door belongs to one event loop: unchecked.
    struct Door: @unchecked Sendable {
        let door: SourceDoor
    }

    init(
        source: String, limits: SourceLimits, admission: Admission, statistics: SourceStatistics,
        notices: LimitNotices, descriptors: DescriptorReserve, clock: any Clock, doors: [Door]
    ) {
        self.source = source
        self.limits = limits
        self.admission = admission
        self.statistics = statistics
        self.notices = notices
        self.descriptors = descriptors
        self.clock = clock
        self.doors = doors
    }

    /// What is to become of a client.
    enum Verdict {
        /// - Parameter instead: a connection of the same user that has to make room.
        case welcome(ClientConnection, instead: UInt64?)
        case refused
    }

    /// Decides about a client that was accepted.
    /// - Parameters:
    ///   - id: unique in the process.
    ///   - loop: the number of the event loop that will serve it.
    func examine(_ client: consuming FileDescriptor, id: UInt64, loop: Int) -> Verdict {
        // The peer may have gone; then nobody reads the answer.
        guard let peer = try? client.peer() else { return .refused }
        let origin = Origin(source: source, uid: peer.uid, gid: peer.gid, pid: peer.pid)
        if let refusal = admission.refusal(of: origin, groups: admission.asksForGroups ? client.peerGroups() : []) {
            statistics.refuse(refusal, at: clock.wallClock())
            return .refused
        }
        let now = clock.now()
        if statistics.connect() > limits.maximumConnections {
            statistics.disconnect()
            let detail = "source \"\(source)\" has \(limits.maximumConnections) connections already (max_connections)"
            statistics.refuse(Refusal(reason: .notAllowed, detail: detail), at: clock.wallClock())
            notices.note(.maximumConnections, "a client of user \(peer.uid) was turned away: \(detail)")
            return .refused
        }
        let limit = limits.maximumConnectionsPerUser
        let entrance = statistics.accounts.withLock { $0.enter(id, user: peer.uid, limit: limit, at: now) }
        var instead: UInt64?
        switch entrance {
        case .welcome: break
        case .instead(let other):
            instead = other
            notices.note(
                .maximumConnectionsPerUser,
                "user \(peer.uid) has \(limit) connections already, and the one that was idle longest made room for a new one")
        case .refused:
            statistics.disconnect()
            let detail = """
                user \(peer.uid) has \(limit) connections to source "\(source)" already, and none of them is idle \
                (max_connections_per_uid); close some, or raise the limit
                """
            statistics.refuse(Refusal(reason: .maximumConnectionsPerUser, detail: detail), at: clock.wallClock())
            notices.note(.maximumConnectionsPerUser, "a client was turned away: \(detail)")
            return .refused
        }
        descriptors.enter()
        return .welcome(
            ClientConnection(id: id, socket: client, origin: origin, listener: self, door: doors[loop].door, at: now), instead: instead)
    }
}

/// A listening socket's descriptor, closed with its last owner.
final class ListeningSocket: Sendable {
    let descriptor: FileDescriptor

    init(_ descriptor: consuming FileDescriptor) throws(SystemError) {
        // Another process may accept from the same socket.
        try descriptor.setNonBlocking()
        self.descriptor = descriptor
    }
}
