import Events

/// Reads the values of a path table's paths from one event after another. An event is read once, when the first value
/// is needed. Filters that look only at the type and the name never read it. One thread.
final class EventFields {
    private let values: PathReader
    private var state = State()

    /// The state for the current event. It is one struct, so that the next event resets it in one step.
    private struct State: BitwiseCopyable {
        var isRead = false
        var isUnreadable = false
        var hasDuplicates = false
    }

    init(_ table: PathTable) {
        values = PathReader(PathSet(table.paths))
    }

    /// Starts the next event, or another version of the same event.
    @inline(__always)
    func startEvent() { state = State() }

    /// The event's bytes are not JSON after all. Its values count as missing.
    @inline(__always)
    var isUnreadable: Bool { state.isUnreadable }
    /// A value that was read has a duplicate key before it in the event.
    var hasDuplicates: Bool { state.hasDuplicates }

    @inline(__always)
    func value(_ path: Int, in json: Span<UInt8>) -> FieldValue {
        if !state.isRead { read(json) }
        return values[path]
    }

    private func read(_ json: Span<UInt8>) {
        state.isRead = true
        switch values.read(json) {
        case .read: break
        case .readFromDuplicates: state.hasDuplicates = true
        case .unreadable: state.isUnreadable = true
        }
    }
}
