import Synchronization

/// The status of one destination, as `penstock status` shows it.
package struct DeliveryStatus: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        case up
        /// The destination answered "retry"; the events are offered again.
        case retrying
        /// Waits for the operator: a credential is refused, or dead letters can't be stored.
        case held
        /// It can't be opened, its data can't be made durable, or the journal can't be read.
        case failing
        case stopped
    }

    package struct Failure: Sendable, Equatable {
        /// One sentence.
        package var message: String
        /// The beginning of the service's answer; empty: no answer.
        package var answer = ""
        /// Nanoseconds since 1970-01-01 UTC.
        package var at: Int64
    }

    /// The state of a replay or a retry of dead letters.
    package struct Backfill: Sendable, Equatable {
        package enum State: String, Sendable, CaseIterable {
            case running
            /// The destination answered "retry"; the events are offered again.
            case retrying
            /// Waits for the operator, as a destination may.
            case held
            case done
            case cancelled
        }

        package var state: State
        package var lastError: Failure?
        /// The replay's id and progress; nil: this is a retry of dead letters.
        package var replay: Replay?
        package var progress = Replay.Progress(position: 0)
    }

    package var name: String
    package var state: State = .up
    /// When it entered this state; nanoseconds since 1970-01-01 UTC.
    package var since: Int64
    /// Events, counted since the worker was created.
    package var delivered: UInt64 = 0
    package var filtered: [String: UInt64] = [:]
    package var deadLettered: UInt64 = 0
    /// Events that replays delivered, and dead letters that a retry delivered.
    package var replayed: UInt64 = 0
    package var retried: UInt64 = 0
    /// The running replay, or the last one; nil: none since the worker was created.
    package var replay: Backfill?
    /// The running retry of dead letters, or the last one.
    package var retry: Backfill?
    /// How often a batch, or the rest of one, was offered again.
    package var retries: UInt64 = 0
    /// The position after the highest one delivered.
    package var positionDelivered: UInt64 = 0
    /// Everything below is settled. The journal's end minus this position is the lag in events.
    package var positionSettled: UInt64 = 0
    /// When the oldest event that was read but is not settled was received (nanoseconds since 1970-01-01 UTC): the lag
    /// in time. nil: no event waits in the worker.
    package var oldestUnsettled: Int64?
    /// The last failure. It stays after recovery.
    package var lastError: Failure?
    /// The time of the next attempt (nanoseconds since 1970-01-01 UTC); nil: no attempt is due.
    package var nextAttempt: Int64?
    /// Some users' events wait for their retry, while other users' events continue (`order: user`).
    package var usersWait = false
}

/// The worker's status, readable from any thread.
final class DeliveryLedger: Sendable {
    private let status: Mutex<DeliveryStatus>

    init(_ status: DeliveryStatus) { self.status = Mutex(status) }

    var snapshot: DeliveryStatus { status.withLock { $0 } }

    /// - Returns: what `change` returns.
    func update<Result: Sendable>(_ change: (inout DeliveryStatus) -> Result) -> Result {
        status.withLock { change(&$0) }
    }
}
