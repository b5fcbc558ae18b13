/// When the event of a position was received, as far as that is known without reading the journal: from the journal's
/// end, which is noted once a tick, and from what was looked up before. Times are nanoseconds since 1970-01-01 UTC. Pure.
struct ReceiveTimes: Sendable {
    /// Ends that are kept; with one a second, the seconds that are covered while events come in.
    private static let limit = 600

    /// The journal's end at a moment, ascending in both.
    private var ends: [(position: UInt64, time: Int64)] = []
    /// By destination: the position that was looked up last.
    private var found: [String: (position: UInt64, time: Int64)] = [:]

    /// - Parameter end: the position that the next event gets.
    mutating func note(end: UInt64, at time: Int64) {
        // The latest moment at which an event was not there yet is the closest to its receipt.
        if let last = ends.last, last.position >= end { ends.removeLast() }
        ends.append((end, time))
        if ends.count > Self.limit { ends.removeFirst() }
    }

    /// Keeps a time that was read from the journal.
    mutating func note(_ time: Int64, of position: UInt64, for destination: String) {
        found[destination] = (position, time)
    }

    mutating func forget(allBut destinations: Set<String>) {
        found = found.filter { destinations.contains($0.key) }
    }

    /// When the event was received, or a little before that; of one that came before everything that is kept, the
    /// latest time that it can have been; nil: nothing was noted yet.
    func time(of position: UInt64, for destination: String) -> Int64? {
        if let found = found[destination], found.position == position { return found.time }
        return ends.last { $0.position <= position }?.time ?? ends.first?.time
    }

    /// Whether the journal has to be read for the time of this position.
    func mustLookUp(_ position: UInt64, for destination: String) -> Bool {
        guard let first = ends.first, position < first.position else { return false }
        return found[destination]?.position != position
    }
}
