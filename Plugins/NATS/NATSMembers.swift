import PenstockPluginKit

/// The hosts that share the lanes of a source: each writes a key of its own to the bucket of the leases, again and
/// again. Belongs to one thread.
struct NATSMembers {
    /// How often the hosts are counted; sooner if their keys expire sooner.
    private static let period = Duration.seconds(5)

    private let leases: NATSLeases
    private let owner: NATSOwner
    /// What the keys of all hosts begin with that read the same lanes.
    private let prefix: String
    private let key: String
    let lanes: Int

    init(_ leases: NATSLeases, _ owner: NATSOwner, _ lanes: [NATSLane]) {
        (self.leases, self.owner, self.lanes) = (leases, owner, lanes.count)
        prefix = "m.\(NATSLane.hash(lanes.map(\.key).sorted().joined(separator: "\n")))."
        key = prefix + NATSLane.hash(owner.member)
    }

    var period: Duration { min(Self.period, leases.timeToLive / 3) }

    /// Writes this host's key, and counts all hosts.
    func count() throws(NATSError) -> Int {
        try leases.put(key, owner.text)
        return try leases.keys().count { $0.hasPrefix(prefix) }
    }

    /// The other hosts take over at once.
    func leave() { try? leases.remove(key) }
}
