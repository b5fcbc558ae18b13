import Events

/// The values of a path table's paths in one event after the other. An event is read once, when
/// the first value is asked for; one whose filters look at its type and name alone is never read.
/// One thread.
final class EventFields {
    private let values: PathReader
    private var state = State()

    /// Of the event at hand. In one piece, so that the next event changes it at one stroke.
    private struct State: BitwiseCopyable {
        var isRead = false
        var isUnreadable = false
        var hasDuplicates = false
    }

    init(_ table: PathTable) {
        values = PathReader(PathSet(table.paths))
    }

    /// Another event (or another version of it) comes.
    @inline(__always)
    func startEvent() { state = State() }

    /// The event's bytes were not JSON after all; its values count as missing.
    @inline(__always)
    var isUnreadable: Bool { state.isUnreadable }
    /// A value that was read has another of the same name before it in the event.
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
