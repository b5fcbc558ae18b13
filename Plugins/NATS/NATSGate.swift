import FleetFormat
import PenstockPluginKit

/// What the threads of a source share: whether they go on, and the acknowledgements to send. Any thread.
final class NATSGate: Sendable {
    private struct State {
        var isStopping = false
        var isEnding = false
        /// The number of the session, and of the last one that was lost.
        var session = 0
        var lost: (session: Int, reason: String)?
        /// The subjects of acknowledgements.
        var replies: [[String]] = []
        var isSending = false
        /// The lanes' threads.
        var working = 0
        /// The lanes that this host has a lease for.
        var balance = LaneBalance()
        /// Whether the hosts that share the lanes are to be counted soon.
        var wantsCount = false
        /// The lanes of which the host has a part of a message, and not all of it.
        var inside = 0
        var pulls: [ObjectIdentifier: NATSPull] = [:]
    }

    private let state = Monitor(State())

    var isStopping: Bool { state.withLock { $0.isStopping } }
    /// Whether nothing more is waited for.
    var isEnding: Bool { state.withLock { $0.isEnding } }
    /// How many lanes this host has.
    var held: Int { state.withLock { $0.balance.held } }

    func nextSession() -> Int {
        state.withLock { state in
            state.session += 1
            return state.session
        }
    }

    /// Whether a session's lanes are read.
    func isRunning(_ session: Int) -> Bool { state.withLock { Self.isRunning(session, $0) } }

    /// Why a session was lost; nil: it was not.
    func loss(of session: Int) -> String? {
        state.withLock { $0.lost?.session == session ? $0.lost?.reason : nil }
    }

    func lose(_ session: Int, _ reason: String) {
        // A connection that is closed at the end calls this, too.
        state.change { if session > $0.lost?.session ?? 0 { $0.lost = (session, reason) } }
        interrupt()
    }

    func stop() {
        state.change { $0.isStopping = true }
        interrupt()
    }

    func end() {
        state.change { ($0.isStopping, $0.isEnding) = (true, true) }
        interrupt()
    }

    /// Waits, but not longer than the session is running.
    /// - Parameter session: nil: any.
    func pause(_ time: Duration, _ session: Int?) {
        _ = state.wait(time) { state in
            session.map { Self.isRunning($0, state) } ?? !state.isStopping ? nil : true
        }
    }

    func begin() { state.withLock { $0.working += 1 } }
    func finish() { state.change { $0.working -= 1 } }
    func balance<Value: Sendable>(_ change: (inout LaneBalance) -> Value) -> Value {
        state.withLock { change(&$0.balance) }
    }
    /// Another host may have come or gone.
    func wantCount() { state.change { $0.wantsCount = true } }

    /// Waits until the hosts are to be counted again; at least for a moment, because each count costs the server work.
    func awaitCount(_ time: Duration, _ session: Int) {
        pause(.milliseconds(Int.random(in: 1500...2500)), session)
        _ = state.wait(time) { $0.wantsCount || !Self.isRunning(session, $0) ? true : nil }
        state.withLock { $0.wantsCount = false }
    }

    func isInside(_ lanes: Int) {
        let isAwaited = state.withLock { state in
            state.inside += lanes
            return state.isStopping
        }
        if isAwaited { state.change { _ in } }
    }

    /// Waits until the host has every message as a whole, of which it has a part.
    func messagesAreWhole(within time: Duration) { _ = state.wait(time) { $0.inside == 0 ? true : nil } }

    /// A pull that is interrupted when its session is no longer running.
    func add(_ pull: NATSPull, _ session: Int) {
        let isRunning = state.withLock { state in
            state.pulls[ObjectIdentifier(pull)] = pull
            return Self.isRunning(session, state)
        }
        if !isRunning { pull.interrupt() }
    }

    func remove(_ pull: NATSPull) { _ = state.withLock { $0.pulls.removeValue(forKey: ObjectIdentifier(pull)) } }

    func acknowledge(_ replies: [String]) {
        if !replies.isEmpty { state.change { $0.replies.append(replies) } }
    }

    /// Waits for acknowledgements to send; `sent` follows.
    /// - Returns: nil: there are none, and no lane's thread is left.
    func repliesToSend() -> [[String]]? {
        while true {
            let next: [[String]]?? = state.wait(.seconds(60)) { state in
                if state.replies.isEmpty { return state.working == 0 ? .some(nil) : nil }
                defer { state.replies = [] }
                state.isSending = true
                return state.replies
            }
            if let next { return next }
        }
    }

    func sent() { state.change { $0.isSending = false } }

    /// Waits until all acknowledgements are sent.
    func allSent(within time: Duration) {
        _ = state.wait(time) { $0.replies.isEmpty && !$0.isSending ? true : nil }
    }

    private func interrupt() {
        // Outside the lock: the library's lock is another one.
        let pulls = state.withLock { Array($0.pulls.values) }
        for pull in pulls { pull.interrupt() }
    }

    private static func isRunning(_ session: Int, _ state: State) -> Bool {
        !state.isStopping && state.lost?.session != session
    }
}
