import Events
import Platform
import PluginHosting
import Synchronization

/// The state of a source plugin, for the operator. All texts are printable.
package struct PluginSourceStatus: Sendable {
    package enum State: Sendable, Equatable {
        /// Its process is being started.
        case starting
        /// It offers events.
        case up
        /// It worked, and has ended. It is started again.
        case retrying(reason: String)
        /// It cannot be started: its file, its settings, or its connection. It is tried again.
        case failing(reason: String)
        case stopped
    }

    package struct Lane: Sendable, Equatable {
        package var name: String
        /// The last position that is durable; nil: none since the plugin was started.
        package var position: String?
    }

    package var state: State
    /// nil: it has not been loaded.
    package var plugin: RunningPlugin.Facts?
    /// The number of open lanes.
    package var openLanes: Int
    /// The first open lanes by name, at most `listedLanes`.
    package var lanes: [Lane]
    /// What keeps the plugin from working, by its own account; nil: nothing.
    package var problem: String?
    /// What keeps its offers from the journal; nil: nothing.
    package var waiting: String?
    /// Why the last process ended, or the last attempt failed; nil: none did.
    package var lastError: String?
    /// How often a process was started, beside the first time.
    package var restarts: UInt64
    /// How old the events are that it brings in, since another host received them (`SourceLag`). Zero if it brings in
    /// none now; nil: it does not tell when events were received.
    package var lag: Duration?
    /// The lag up to which the daemon is ready.
    package var readyLag: Duration

    package static let listedLanes = 100
}

/// Where a source's worker notes its state for other threads. Any thread.
final class SourceBoard: Sendable {
    private struct Board {
        var state = PluginSourceStatus.State.starting
        var lanes = OpenLanes()
        var problem: String?
        var waiting: String?
        var lastError: String?
        var starts: UInt64 = 0
        var lag = SourceLag()
    }

    private let board = Mutex(Board())
    private let readyLag: Duration

    init(readyLag: Duration) { self.readyLag = readyLag }

    func status(_ plugin: RunningPlugin.Facts?, at now: Instant) -> PluginSourceStatus {
        // Sorted outside of the lock, which the worker needs.
        let board = board.withLock { $0 }
        return PluginSourceStatus(
            state: board.state, plugin: plugin, openLanes: board.lanes.count,
            lanes: board.lanes.first(PluginSourceStatus.listedLanes), problem: board.problem, waiting: board.waiting,
            lastError: board.lastError, restarts: board.starts == 0 ? 0 : board.starts - 1, lag: board.lag.lag(at: now),
            readyLag: readyLag)
    }

    /// A new attempt: nothing is known of its lanes.
    func start() {
        board.withLock {
            $0.state = .starting
            $0.lanes = OpenLanes()
            $0.problem = nil
            $0.waiting = nil
        }
    }

    /// An offer of a lane is stored, or waits for the journal, whose newest event is as old as this.
    func note(age: Duration, of lane: String, at now: Instant) {
        board.withLock { $0.lag.note(age, of: lane, at: now) }
    }

    func noteProcess() { board.withLock { $0.starts += 1 } }

    func set(_ state: PluginSourceStatus.State) {
        board.withLock {
            $0.state = state
            switch state {
            case .retrying(let reason), .failing(let reason): $0.lastError = reason
            case .starting, .up, .stopped: break
            }
        }
    }

    /// - Returns: whether it is another one than before.
    func set(problem: String?) -> Bool {
        board.withLock {
            let before = $0.problem
            $0.problem = problem
            return before != problem
        }
    }

    /// - Returns: whether it is another one than before.
    func set(waiting: String?) -> Bool {
        board.withLock {
            let before = $0.waiting
            $0.waiting = waiting
            return before != waiting
        }
    }

    func open(_ lane: String) { board.withLock { $0.lanes.open(lane) } }
    func close(_ lane: String) { board.withLock { $0.lanes.close(lane) } }
    func store(_ positions: [LanePosition]) {
        board.withLock { board in
            for position in positions { board.lanes.store(position) }
        }
    }
}
