import Platform

/// Connections that wait because of a rate limit, and until when. Pure.
struct WaitingTimes {
    /// The shortest time between two looks at all of them.
    private static let pause = Duration.milliseconds(5)

    private var ends: [UInt64: Instant] = [:]
    /// When to look next; nil: none waits.
    private(set) var next: Instant?

    var isEmpty: Bool { ends.isEmpty }

    func contains(_ connection: UInt64) -> Bool { ends[connection] != nil }

    mutating func add(_ connection: UInt64, until end: Instant) {
        ends[connection] = end
        next = min(next ?? end, end)
    }

    mutating func remove(_ connection: UInt64) { ends[connection] = nil }

    /// Removes and returns the connections whose wait is over.
    mutating func takeDue(at now: Instant) -> [UInt64] {
        guard let next, now >= next else { return [] }
        let due = ends.filter { $0.value <= now }.map(\.key)
        for id in due { ends[id] = nil }
        self.next = ends.values.min().map { max($0, now + Self.pause) }
        return due
    }
}
