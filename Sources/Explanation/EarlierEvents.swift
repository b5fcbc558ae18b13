import Delivery
import Events
import Journal

/// What is known of the events that came before those to be told of: transforms may look at them (`dedupe`,
/// `throttle`).
package enum EarlierEvents: Sendable {
    /// There were none.
    case none
    /// There may have been any.
    case unknown
    case stored(StoredEvents)
}

/// A journal's files, as what shows a router its past reads them.
struct StoredLog: EventLog {
    private let stored: StoredEvents
    let end: UInt64

    /// - Parameter end: the position behind the last event that matters.
    init(_ stored: StoredEvents, end: UInt64) {
        self.stored = stored
        self.end = end
    }

    func makeReader(from position: UInt64) throws -> any EventReader { Reader(reader: try stored.makeReader(from: position)) }

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
