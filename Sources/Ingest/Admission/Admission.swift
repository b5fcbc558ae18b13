import Events

/// Decides who may connect to a source (`allow:`). The decision is made once, at connect time, from the kernel's
/// credentials of the peer.
package struct Admission: Sendable, Equatable {
    /// nil: anybody who can open the socket.
    private let allowed: (users: Set<UInt32>, groups: Set<UInt32>)?

    /// - Parameters:
    ///   - users: user ids.
    ///   - groups: group ids. A peer matches by its primary group or by a supplementary group.
    package init(users: Set<UInt32>, groups: Set<UInt32>) {
        allowed = (users, groups)
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
        return Refusal(
            reason: .notAllowed,
            detail: """
                user \(peer.uid) may not send to source "\(peer.source)": neither it nor its groups are listed in the \
                source's allow:
                """)
    }

    package static func == (a: Admission, b: Admission) -> Bool {
        a.allowed?.users == b.allowed?.users && a.allowed?.groups == b.allowed?.groups
    }
}
