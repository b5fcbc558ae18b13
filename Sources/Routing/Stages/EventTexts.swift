import Events

/// The events between two stages: none, one or several, as JSON one after another.
struct EventTexts {
    /// Append an event here, then call `finishEvent` to mark its end.
    var bytes: [UInt8] = []
    private(set) var ends: [Int] = []
    /// Follows each event in `bytes`, for `EventView.memory`.
    private var suffix: [UInt8] = []

    var count: Int { ends.count }

    /// Removes the events of the last run.
    mutating func begin(_ suffix: Span<UInt8>) {
        removeAll()
        if suffix.count == 0, self.suffix.isEmpty { return }
        self.suffix.removeAll(keepingCapacity: true)
        self.suffix.append(contentsOf: suffix)
    }

    /// Ends an event: all bytes that were appended since the last call.
    mutating func finishEvent() {
        ends.append(bytes.count)
        if !suffix.isEmpty { bytes += suffix }
    }

    mutating func append(_ json: Span<UInt8>) {
        bytes.append(contentsOf: json)
        finishEvent()
    }

    func range(of event: Int) -> Range<Int> { (event == 0 ? 0 : ends[event - 1] + suffix.count)..<ends[event] }

    /// The event and what follows it.
    func memory(of event: Int) -> Range<Int> { range(of: event).lowerBound..<ends[event] + suffix.count }

    /// Removes all bytes after the first `count` events.
    mutating func keep(_ count: Int) {
        ends.removeLast(ends.count - count)
        bytes.removeLast(bytes.count - (ends.last.map { $0 + suffix.count } ?? 0))
    }

    /// Keeps the capacity.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }
}
