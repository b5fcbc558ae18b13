import Events

/// The events between two stages: none, one or several, as JSON one after another.
struct EventTexts {
    /// Append an event here, then call `finishEvent` to mark its end.
    var bytes: [UInt8] = []
    private(set) var ends: [Int] = []

    var count: Int { ends.count }

    /// Ends an event: all bytes that were appended since the last call.
    mutating func finishEvent() { ends.append(bytes.count) }

    mutating func append(_ json: Span<UInt8>) {
        bytes.append(contentsOf: json)
        finishEvent()
    }

    func range(of event: Int) -> Range<Int> { (event == 0 ? 0 : ends[event - 1])..<ends[event] }

    /// Removes all bytes after the first `count` events.
    mutating func keep(_ count: Int) {
        ends.removeLast(ends.count - count)
        bytes.removeLast(bytes.count - (ends.last ?? 0))
    }

    /// Keeps the capacity.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }
}
