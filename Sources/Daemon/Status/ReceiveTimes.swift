/// Estimates receive times of positions without reading the journal: from the journal's end, which is noted once a
/// tick, and from earlier lookups. Times are nanoseconds since 1970-01-01 UTC. Pure.
struct ReceiveTimes: Sendable {
    /// The number of ends kept. With one end a second, this is also the covered time in seconds while events arrive.
    private static let limit = 600

    /// The journal's end at a time, ascending in both.
    private var ends: [(position: UInt64, time: Int64)] = []
    /// The last lookup of each destination.
    private var found: [String: (position: UInt64, time: Int64)] = [:]

    /// - Parameter end: the position of the next event.
    mutating func note(end: UInt64, at time: Int64) {
        // The latest time at which an event was not there yet is closest to its receive time, so a newer time replaces
        // an older one for the same end.
        if let last = ends.last, last.position >= end { ends.removeLast() }
        ends.append((end, time))
        if ends.count > Self.limit { ends.removeFirst() }
    }

    /// Stores a receive time that was read from the journal.
    mutating func note(_ time: Int64, of position: UInt64, for destination: String) {
        found[destination] = (position, time)
    }

    mutating func forget(allBut destinations: Set<String>) {
        found = found.filter { destinations.contains($0.key) }
    }

    /// Returns the receive time of the event at `position`, or a time shortly before it. For an event before the oldest
    /// noted end, returns the latest possible time. Nil if no end was noted yet.
    func time(of position: UInt64, for destination: String) -> Int64? {
        if let found = found[destination], found.position == position { return found.time }
        return ends.last { $0.position <= position }?.time ?? ends.first?.time
    }

    /// Whether the receive time of this position must be read from the journal.
    func mustLookUp(_ position: UInt64, for destination: String) -> Bool {
        guard let first = ends.first, position < first.position else { return false }
        return found[destination]?.position != position
    }
}
