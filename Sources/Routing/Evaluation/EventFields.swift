import Events

/// The values of a path table's paths in one event after the other. An event is read once, when
/// the first value is asked for; one whose filters look at its type and name alone is never read.
/// One thread.
final class EventFields {
    /// Made when it is first needed (many destinations never read an event), and again for larger
    /// events.
    private var reader: PathReader?
    private var readerSize = 0
    private let paths: PathSet
    private var values: [FieldValue]
    private var state = State()

    /// Of the event at hand. In one piece, so that the next event changes it at one stroke.
    private struct State: BitwiseCopyable {
        var isRead = false
        var isUnreadable = false
        var hasDuplicates = false
    }

    init(_ table: PathTable) {
        paths = PathSet(table.paths)
        values = [FieldValue](repeating: .missing, count: table.paths.count)
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
        guard !values.isEmpty else { return }
        let reader = reader(for: json.count)
        state.isUnreadable = !reader.read(paths, from: json, into: &values)
        state.hasDuplicates = reader.sawDuplicates
    }

    private func reader(for size: Int) -> PathReader {
        if let reader, size <= readerSize { return reader }
        readerSize = max(Self.smallestReader, size + size / 2)
        let made = PathReader(maximumEventSize: readerSize, maximumDepth: Self.maximumDepth)
        reader = made
        return made
    }

    /// Bytes; the usual limit of an event.
    private static let smallestReader = 32 << 10
    /// Deeper than an event may be when it comes, since transforms can nest one field in another.
    private static let maximumDepth = 4096
}
