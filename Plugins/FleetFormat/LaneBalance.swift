/// How many of the lanes that several hosts may read belong to this one. Pure.
///
/// With n lanes and m hosts, a host claims lanes until it has n/m of them, rounded up, and lets go of what it has
/// beyond that. So the lanes are shared out evenly, and only as many move as must. What no other host claims, it takes
/// beyond its share, and keeps for a while: another host that counts may be unable to read.
package struct LaneBalance: Sendable {
    package typealias Instant = ContinuousClock.Instant

    /// How long a host keeps what it has taken beyond its share.
    private static let keeping = Duration.seconds(30)

    /// The most lanes of this host; nil: it does not know the others.
    private var share: Int?
    private var hosts = 0
    /// How many lanes it may have beyond its share, and since when.
    private var extra = 0
    private var extraSince: Instant?
    package private(set) var held = 0
    private var claiming = 0
    private var yielding = 0

    package init() {}

    /// - Parameters:
    ///   - lanes: their number.
    ///   - hosts: that read them, with this one.
    package mutating func share(_ lanes: Int, among hosts: Int, at now: Instant) {
        let hosts = max(hosts, 1)
        share = lanes / hosts + (lanes % hosts > 0 ? 1 : 0)
        let isOver = extraSince.map { now - $0 > Self.keeping } ?? false
        if hosts != self.hosts || isOver { (extra, extraSince) = (0, nil) }
        self.hosts = hosts
    }

    /// The other hosts are not known any more.
    package mutating func forget() { (share, hosts, extra, extraSince) = (nil, 0, 0, nil) }

    private var limit: Int { share.map { $0 > .max - extra ? .max : $0 + extra } ?? .max }

    /// Whether this host claims a lane now; `claimed` follows.
    /// - Parameter isAbandoned: no other host has claimed it for a while.
    package mutating func mayClaim(isAbandoned: Bool) -> Bool {
        guard isAbandoned || held - yielding + claiming < limit else { return false }
        claiming += 1
        return true
    }

    /// - Parameter isAbandoned: as `mayClaim` was told.
    package mutating func claimed(_ isOurs: Bool, isAbandoned: Bool, at now: Instant) {
        claiming -= 1
        guard isOurs else { return }
        held += 1
        // Only then: claims that fail again and again must not add up.
        if isAbandoned, held - yielding > limit { (extra, extraSince) = (extra + 1, now) }
    }

    /// Whether this host lets go of a lane that it has; `released` follows.
    package mutating func mustYield() -> Bool {
        guard held - yielding > limit else { return false }
        yielding += 1
        return true
    }

    package mutating func released(hasYielded: Bool) {
        held -= 1
        if hasYielded { yielding -= 1 }
    }
}
