import Delivery
import Events
import Journal

/// What is known about the events before the explained ones. Some transforms depend on them (`dedupe`, `throttle`).
package enum EarlierEvents: Sendable {
    /// There are no earlier events.
    case none
    /// There may be earlier events.
    case unknown
    /// The earlier events are those of a journal.
    case stored(StoredEvents)
}

/// A journal's files as an `EventLog`, for `StateWarmup`.
struct StoredLog: EventLog {
    private let stored: StoredEvents
    let end: UInt64

    /// - Parameter end: the position after the last event to read.
    init(_ stored: StoredEvents, end: UInt64) {
        self.stored = stored
        self.end = end
    }

    func makeReader(from position: UInt64) throws -> any EventReader {
        Reader(reader: try stored.makeReader(from: position))
    }

    private final class Reader: EventReader {
        private let reader: StoredEvents.Reader

        init(reader: StoredEvents.Reader) { self.reader = reader }

        func read(into batch: inout EventBatch, maximumBytes: Int) throws -> Bool {
            guard let next = try reader.next() else { return false }
            batch = next
            return true
        }
    }
}
