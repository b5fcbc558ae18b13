import Events

/// Decides who may connect to a source (`allow:`). The decision is made once, at connect time, from the kernel's
/// credentials of the peer.
package struct Admission: Sendable, Equatable {
    /// nil: anybody who can open the socket.
    private let allowed: (users: Set<UInt32>, groups: Set<UInt32>, members: Set<UInt32>)?

    /// - Parameters:
    ///   - users: user ids.
    ///   - groups: group ids. A peer matches by its primary group or by a supplementary group.
    ///   - members: the users whom the group database names as members of these groups. The kernel does not report the
    ///     supplementary groups of a datagram's sender, so there they count instead.
    package init(users: Set<UInt32>, groups: Set<UInt32>, members: Set<UInt32> = []) {
        allowed = (users, groups, members)
    }

    private init() {
        allowed = nil
    }

    /// Admits anybody who can open the socket.
    package static let everybody = Admission()

    /// Whether the decision may depend on the peer's supplementary groups.
    var asksForGroups: Bool { !(allowed?.groups.isEmpty ?? true) }

    func refusal(of peer: Origin, groups: [UInt32]) -> Refusal? {
        guard let allowed else { return nil }
        if allowed.users.contains(peer.uid) || allowed.groups.contains(peer.gid) { return nil }
        if groups.contains(where: allowed.groups.contains) { return nil }
        return notAllowed(peer)
    }

    /// For the sender of a datagram.
    func refusal(ofSender sender: Origin) -> Refusal? {
        guard let allowed else { return nil }
        if sender.hasPeer, allowed.members.contains(sender.uid) { return nil }
        return refusal(of: sender, groups: [])
    }

    private func notAllowed(_ peer: Origin) -> Refusal {
        let sender = peer.hasPeer ? "user \(peer.uid)" : "a sender that the kernel does not name"
        return Refusal(
            reason: .notAllowed,
            detail: """
                \(sender) may not send to source "\(peer.source)": neither it nor its groups are listed in the \
                source's allow:
                """)
    }

    package static func == (a: Admission, b: Admission) -> Bool {
        a.allowed?.users == b.allowed?.users && a.allowed?.groups == b.allowed?.groups
            && a.allowed?.members == b.allowed?.members
    }
}
