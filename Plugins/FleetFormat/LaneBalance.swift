/// How many of the lanes that several hosts may read belong to this one. Pure.
///
/// With n lanes and m hosts, a host claims lanes until it has n/m of them, rounded up, and lets go of what it has
/// beyond that. So the lanes are shared out evenly, and only as many move as must.
package struct LaneBalance: Sendable {
    /// The most lanes of this host; nil: it does not know the others.
    private var share: Int?
    package private(set) var held = 0
    private var claiming = 0
    private var yielding = 0

    package init() {}

    /// - Parameters:
    ///   - lanes: their number.
    ///   - hosts: that read them, with this one.
    package mutating func share(_ lanes: Int, among hosts: Int) {
        let hosts = max(hosts, 1)
        share = lanes / hosts + (lanes % hosts > 0 ? 1 : 0)
    }

    /// Whether this host claims a lane now; `claimed` follows.
    /// - Parameter isAbandoned: no other host has claimed it for a while.
    package mutating func mayClaim(isAbandoned: Bool) -> Bool {
        guard isAbandoned || held - yielding + claiming < share ?? .max else { return false }
        claiming += 1
        return true
    }

    package mutating func claimed(_ isOurs: Bool) {
        claiming -= 1
        if isOurs { held += 1 }
    }

    /// Whether this host lets go of a lane that it has; `released` follows.
    package mutating func mustYield() -> Bool {
        guard held - yielding > share ?? .max else { return false }
        yielding += 1
        return true
    }

    package mutating func released(hasYielded: Bool) {
        held -= 1
        if hasYielded { yielding -= 1 }
    }
}
