import Events
import Synchronization

/// A range of the journal that a destination gets again, beside live delivery.
package struct Replay: Sendable, Equatable, Codable {
    /// The replay's progress, as it is kept across restarts.
    package struct Progress: Sendable, Equatable, Codable {
        /// Everything below is settled.
        package var position: UInt64
        /// Events, counted since the replay was accepted. Events that a crash repeats count twice.
        package var delivered: UInt64 = 0
        package var filtered: UInt64 = 0
        package var deadLettered: UInt64 = 0
        /// Positions that are no longer in the journal.
        package var missing: UInt64 = 0

        package init(position: UInt64) { self.position = position }
    }

    package var id: String
    /// The range of receive times; `until` is exclusive. Nanoseconds since 1970-01-01 UTC.
    package var from: Int64
    package var until: Int64
    /// The first position, and the position after the last one. Live delivery covers everything from `end` on.
    package var start: UInt64
    package var end: UInt64
    /// A filter that events must match as well; nil: none.
    package var condition: String?
    /// Events per second; nil: as many as live delivery leaves room for.
    package var eventsPerSecond: Int?
    /// Nanoseconds since 1970-01-01 UTC.
    package var acceptedAt: Int64
    package var progress: Progress

    /// Identifies this replay among all replays.
    package var passage: Passage { .replay(id: "\(id) \(acceptedAt)") }

    package init(
        id: String, from: Int64, until: Int64, positions: Range<UInt64>, condition: String? = nil,
        eventsPerSecond: Int? = nil, acceptedAt: Int64
    ) {
        self.id = id
        self.from = from
        self.until = until
        start = positions.lowerBound
        end = positions.upperBound
        self.condition = condition
        self.eventsPerSecond = eventsPerSecond
        self.acceptedAt = acceptedAt
        progress = Progress(position: positions.lowerBound)
    }
}

/// The journal, cut off at the end of a replay.
package final class ReplayLog: EventLog {
    private let log: any EventLog
    private let last: UInt64
    private let missing: Missing

    /// Counts the positions that readers found missing.
    package final class Missing: Sendable {
        private let count = Mutex<UInt64>(0)
        package init() {}
        func add(_ positions: UInt64) { count.withLock { $0 &+= positions } }
        package func take() -> UInt64 { count.withLock { exchange(&$0, with: 0) } }
    }

    package init(_ log: any EventLog, end: UInt64, missing: Missing = Missing()) {
        self.log = log
        last = end
        self.missing = missing
    }

    package var end: UInt64 { min(log.end, last) }

    package func makeReader(from position: UInt64) throws -> any EventReader {
        Reader(try log.makeReader(from: position), next: position, end: last, missing)
    }

    private final class Reader: EventReader {
        private let reader: any EventReader
        private var next: UInt64
        private let end: UInt64
        private let missing: Missing

        init(_ reader: any EventReader, next: UInt64, end: UInt64, _ missing: Missing) {
            self.reader = reader
            self.next = next
            self.end = end
            self.missing = missing
        }

        func read(into batch: inout EventBatch, maximumBytes: Int) throws -> Bool {
            guard next < end, try reader.read(into: &batch, maximumBytes: maximumBytes) else {
                batch.removeAll()
                batch.next = max(next, min(batch.next, end))
                return false
            }
            if let beyond = batch.events.firstIndex(where: { $0.position >= end }) {
                batch.events.removeSubrange(beyond...)
            }
            batch.next = min(batch.next, end)
            // A gap means that the journal was damaged there, or that the events were removed.
            for event in batch.events {
                if event.position > next { missing.add(event.position - next) }
                next = event.position &+ 1
            }
            if batch.next > next { missing.add(batch.next - next) }
            next = batch.next
            return true
        }
    }
}
