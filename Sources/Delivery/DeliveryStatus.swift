import Synchronization

/// How one destination is doing: what `penstock status` shows.
package struct DeliveryStatus: Sendable, Equatable {
    package enum State: String, Sendable, CaseIterable {
        case up
        /// Something was refused with "not now"; it is offered again.
        case retrying
        /// Waits for a person: its credential is refused, or its dead letters cannot be stored.
        case held
        /// It cannot be opened, its data cannot be made durable, or the journal cannot be read.
        case failing
        case stopped
    }

    package struct Failure: Sendable, Equatable {
        /// One sentence.
        package var message: String
        /// The beginning of what the service said; empty: nothing.
        package var answer = ""
        /// Nanoseconds since 1970-01-01 UTC.
        package var at: Int64
    }

    /// How far what goes again is, beside live delivery.
    package struct Backfill: Sendable, Equatable {
        package enum State: String, Sendable, CaseIterable {
            case running
            /// Something was refused with "not now"; it is offered again.
            case retrying
            /// Waits for a person, as a destination may.
            case held
            case done
            case cancelled
        }

        package var state: State
        package var lastError: Failure?
        /// Of a replay: which, and how far.
        package var replay: Replay?
        package var progress = Replay.Progress(position: 0)
    }

    package var name: String
    package var state: State = .up
    /// When it came into this state; nanoseconds since 1970-01-01 UTC.
    package var since: Int64
    /// Events, since the worker was made.
    package var delivered: UInt64 = 0
    package var filtered: [String: UInt64] = [:]
    package var deadLettered: UInt64 = 0
    /// Events delivered again by replays, and dead letters delivered at last.
    package var replayed: UInt64 = 0
    package var retried: UInt64 = 0
    /// The replay under way, or the last one; nil: none since the worker was made.
    package var replay: Backfill?
    /// The retry of dead letters under way, or the last one.
    package var retry: Backfill?
    /// How often a batch, or what was left of one, was offered again.
    package var retries: UInt64 = 0
    /// After the highest position delivered.
    package var positionDelivered: UInt64 = 0
    /// Everything below is settled; with the journal's end it gives the lag in events.
    package var positionSettled: UInt64 = 0
    /// When the oldest event that was read and not settled was received (nanoseconds since
    /// 1970-01-01 UTC): the lag in time. nil: nothing waits in the worker.
    package var oldestUnsettled: Int64?
    /// The last thing that went wrong, also when all is well again.
    package var lastError: Failure?
    /// When what waits is tried again (nanoseconds since 1970-01-01 UTC); nil: nothing waits.
    package var nextAttempt: Int64?
    /// Events of some users wait for their next attempt, while others' go on (`order: user`).
    package var usersWait = false
}

/// The worker's status where any thread may look at it.
final class DeliveryLedger: Sendable {
    private let status: Mutex<DeliveryStatus>

    init(_ status: DeliveryStatus) { self.status = Mutex(status) }

    var snapshot: DeliveryStatus { status.withLock { $0 } }

    /// - Returns: what `change` returns.
    func update<Result: Sendable>(_ change: (inout DeliveryStatus) -> Result) -> Result {
        status.withLock { change(&$0) }
    }
}
