import Events

/// Who may connect to a source (`allow:`), decided once, at connect time, by what the kernel says
/// about the peer.
package struct Admission: Sendable, Equatable {
    /// nil: whoever can open the socket.
    private let allowed: (users: Set<UInt32>, groups: Set<UInt32>)?

    /// - Parameters:
    ///   - users: user ids.
    ///   - groups: ids of groups; a member is whoever has one as first or further group.
    package init(users: Set<UInt32>, groups: Set<UInt32>) {
        allowed = (users, groups)
    }

    private init() {
        allowed = nil
    }

    /// Whoever can open the socket.
    package static let everybody = Admission()

    /// Whether the answer may depend on groups beside the peer's first.
    var asksForGroups: Bool { !(allowed?.groups.isEmpty ?? true) }

    func refusal(of peer: Origin, groups: [UInt32]) -> Refusal? {
        guard let allowed else { return nil }
        if allowed.users.contains(peer.uid) || allowed.groups.contains(peer.gid) { return nil }
        if groups.contains(where: allowed.groups.contains) { return nil }
        return Refusal(
            reason: .notAllowed,
            detail: "user \(peer.uid) may not send to source \"\(peer.source)\": it is not in the source's allow:")
    }

    package static func == (a: Admission, b: Admission) -> Bool {
        a.allowed?.users == b.allowed?.users && a.allowed?.groups == b.allowed?.groups
    }
}
