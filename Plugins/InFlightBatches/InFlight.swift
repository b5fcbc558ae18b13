// InFlightBatches: settles batches whose events are acknowledged one by one, as by a message broker.
//
// It knows no broker, and calls no C library.

import PenstockPluginKit
import Synchronization

/// The batches whose messages are sent and not yet acknowledged. Settles a batch when each of its events has an
/// outcome. Any thread.
package final class InFlight: Sendable {
    /// The number of a batch, never 0.
    package typealias Number = UInt32

    private struct Entry {
        let batch: Batch
        let due: ContinuousClock.Instant
        var outcomes: [Outcome?]
        /// Events without an outcome, and 1 while the batch is being sent: until then its events are read.
        var open: Int
    }

    private struct State {
        var entries: [Number: Entry] = [:]
        var last: Number = 0
        var events = 0
        var wantsRoom = false
    }

    private struct Settlement {
        let batch: Batch
        let outcomes: [Outcome?]
    }

    private let window: Int
    private let onRoom: @Sendable () -> Void
    private let state = Mutex(State())

    /// - Parameters:
    ///   - window: the most events in flight, except that a single batch may have more.
    ///   - onRoom: called after `add` returned nil, when there may be room again.
    package init(window: Int, onRoom: @escaping @Sendable () -> Void) {
        self.window = window
        self.onRoom = onRoom
    }

    package var isEmpty: Bool { state.withLock { $0.entries.isEmpty } }
    /// The time at which the first batch is due; nil: there is none.
    package var firstDue: ContinuousClock.Instant? { state.withLock { $0.entries.values.map(\.due).min() } }

    /// Adds a batch that is about to be sent: call `sent` after its last event.
    /// - Returns: nil if there is no room.
    package func add(_ batch: Batch, due: ContinuousClock.Instant) -> Number? {
        state.withLock { state in
            guard state.entries.isEmpty || state.events + batch.count <= window else {
                state.wantsRoom = true
                return nil
            }
            repeat { state.last &+= 1 } while state.last == 0 || state.entries[state.last] != nil
            state.events += batch.count
            state.entries[state.last] = Entry(
                batch: batch, due: due, outcomes: Array(repeating: nil, count: batch.count), open: batch.count + 1)
            return state.last
        }
    }

    /// Reports one event's outcome. Later outcomes of the same event are ignored.
    package func settle(_ number: Number, _ index: Int, _ outcome: Outcome) {
        settle(number, CollectionOfOne(index), outcome)
    }

    /// Reports the outcome of several events.
    package func settle(_ number: Number, _ indexes: some Collection<Int>, _ outcome: Outcome) {
        close(number) { entry in
            for index in indexes where entry.outcomes.indices.contains(index) && entry.outcomes[index] == nil {
                entry.outcomes[index] = outcome
                entry.open -= 1
            }
        }
    }

    /// All events of the batch were passed to the library, or have an outcome.
    package func sent(_ number: Number) { close(number) { $0.open -= 1 } }

    /// Gives this outcome to all events that have none.
    /// - Parameter before: only to those of batches that are due; nil: to those of all batches.
    /// - Returns: how many there were.
    @discardableResult
    package func settleRest(_ outcome: Outcome, dueBefore before: ContinuousClock.Instant? = nil) -> Int {
        let numbers = state.withLock { state in
            state.entries.filter { entry in before.map { entry.value.due <= $0 } ?? true }.keys.sorted()
        }
        var count = 0
        for number in numbers {
            close(number) { entry in
                for index in entry.outcomes.indices where entry.outcomes[index] == nil {
                    entry.outcomes[index] = outcome
                    entry.open -= 1
                    count += 1
                }
            }
        }
        return count
    }

    /// When the batch's acknowledgements are overdue: some time before the host's deadline, which ends the process.
    package static func due(_ batch: Batch, _ timeout: Duration, margin: Duration) -> ContinuousClock.Instant {
        .now + max(min(timeout, batch.timeLeft - margin), .milliseconds(10))
    }

    private func close(_ number: Number, _ body: (inout Entry) -> Void) {
        let (settlement, hasRoom) = state.withLock { state -> (Settlement?, Bool) in
            guard let place = state.entries.index(forKey: number) else { return (nil, false) }
            body(&state.entries.values[place])
            guard state.entries.values[place].open == 0 else { return (nil, false) }
            let entry = state.entries.remove(at: place).value
            state.events -= entry.batch.count
            defer { state.wantsRoom = false }
            return (Settlement(batch: entry.batch, outcomes: entry.outcomes), state.wantsRoom)
        }
        if let settlement { settlement.batch.settle(settlement.outcomes.map { $0 ?? .retry }) }
        if hasRoom { onRoom() }
    }
}
