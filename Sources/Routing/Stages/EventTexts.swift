import Events

/// Events between two stages: none, one or several, as JSON one behind the other.
struct EventTexts {
    /// Appended to; then `finishEvent` says where the event ends.
    var bytes: [UInt8] = []
    private(set) var ends: [Int] = []

    var count: Int { ends.count }

    /// What was appended to `bytes` since the last time is one event.
    mutating func finishEvent() { ends.append(bytes.count) }

    mutating func append(_ json: Span<UInt8>) {
        bytes.append(contentsOf: json)
        finishEvent()
    }

    func range(of event: Int) -> Range<Int> { (event == 0 ? 0 : ends[event - 1])..<ends[event] }

    /// Takes back what was appended behind these.
    mutating func keep(_ count: Int) {
        ends.removeLast(ends.count - count)
        bytes.removeLast(bytes.count - (ends.last ?? 0))
    }

    /// Keeps the memory.
    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        ends.removeAll(keepingCapacity: true)
    }
}
