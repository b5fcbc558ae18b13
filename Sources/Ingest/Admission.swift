import Events

/// Who may connect to a source (`allow:`), decided once, at connect time, by the user and group
/// ids that the kernel gives for the peer.
package struct Admission: Sendable {
    private let allows: @Sendable (_ uid: UInt32, _ gid: UInt32) -> Bool

    package init(_ allows: @escaping @Sendable (_ uid: UInt32, _ gid: UInt32) -> Bool) {
        self.allows = allows
    }

    /// Whoever can open the socket.
    package static let everybody = Admission { _, _ in true }

    func refusal(of peer: Origin) -> Refusal? {
        if allows(peer.uid, peer.gid) { return nil }
        return Refusal(
            reason: .notAllowed,
            detail: "user \(peer.uid) may not send to source \"\(peer.source)\" (its allow: in the configuration)")
    }
}
