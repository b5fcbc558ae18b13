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
        /// By event: whether it has an outcome.
        var isSettled: [Bool]
        /// The outcomes that are not `delivered`, by event: most batches have none.
        var others: [Int: Outcome] = [:]
        /// Events without an outcome, and 1 while the batch is being sent: until then its events are read.
        var open: Int

        /// Later outcomes of the same event are ignored.
        /// - Parameter other: nil: it is delivered.
        mutating func settle(_ index: Int, _ other: Outcome?) {
            guard isSettled.indices.contains(index), !isSettled[index] else { return }
            isSettled[index] = true
            open -= 1
            if let other { others[index] = other }
        }
    }

    private struct State {
        var entries: [Number: Entry] = [:]
        var last: Number = 0
        var events = 0
        var wantsRoom = false
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
                batch: batch, due: due, isSettled: Array(repeating: false, count: batch.count),
                open: batch.count + 1)
            return state.last
        }
    }

    /// Reports one event's outcome. Later outcomes of the same event are ignored.
    package func settle(_ number: Number, _ index: Int, _ outcome: Outcome) {
        settle(number, CollectionOfOne(index), outcome)
    }

    /// Reports the outcome of several events.
    package func settle(_ number: Number, _ indexes: some Collection<Int>, _ outcome: Outcome) {
        let other = outcome == .delivered ? nil : outcome
        close(number) { entry in for index in indexes { entry.settle(index, other) } }
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
        let other = outcome == .delivered ? nil : outcome
        var count = 0
        for number in numbers {
            close(number) { entry in
                for index in entry.isSettled.indices where !entry.isSettled[index] {
                    entry.settle(index, other)
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
        let (settled, hasRoom) = state.withLock { state -> (Entry?, Bool) in
            guard let place = state.entries.index(forKey: number) else { return (nil, false) }
            body(&state.entries.values[place])
            guard state.entries.values[place].open == 0 else { return (nil, false) }
            let entry = state.entries.remove(at: place).value
            state.events -= entry.batch.count
            defer { state.wantsRoom = false }
            return (entry, state.wantsRoom)
        }
        if let settled {
            if settled.others.isEmpty, !settled.isSettled.contains(false) {
                settled.batch.settle(.delivered)
            } else {
                settled.batch.settle(
                    settled.batch.indices.map { settled.isSettled[$0] ? settled.others[$0] ?? .delivered : .retry })
            }
        }
        if hasRoom { onRoom() }
    }
}
