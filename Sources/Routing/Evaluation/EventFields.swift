import Events

/// The values of a path table's paths in one event after the other. An event is read once, when
/// the first value is asked for; one whose filters look at its type and name alone is never read.
/// One thread.
final class EventFields {
    /// Made when it is first needed: many destinations never read an event.
    private lazy var reader = PathReader()
    private let paths: PathSet
    private var values: [FieldValue]
    private var isRead = false
    /// The event's bytes were not JSON after all; its values count as missing.
    private(set) var isUnreadable = false
    /// What functions make while a filter runs.
    var scratch: [UInt8] = []

    init(_ table: PathTable) {
        paths = PathSet(table.paths)
        values = [FieldValue](repeating: .missing, count: table.paths.count)
    }

    /// Another event (or another version of it) comes.
    @inline(__always)
    func startEvent() {
        isRead = false
        isUnreadable = false
    }

    @inline(__always)
    func value(_ path: Int, in json: Span<UInt8>) -> FieldValue {
        if !isRead { read(json) }
        return values[path]
    }

    private func read(_ json: Span<UInt8>) {
        isRead = true
        guard !values.isEmpty else { return }
        isUnreadable = !reader.read(paths, from: json, into: &values)
        if isUnreadable {
            for i in values.indices { values[i] = .missing }
        }
    }
}
