import CPluginChannel
import Events
import Platform
import PluginHosting
import Synchronization

/// Takes what one process of a source sends: offers into a queue that the window bounds, the rest to the board.
final class SourceReceiver: PluginMessageReceiver {
    let reporting: PluginReporting

    private struct State {
        /// Received and not taken yet. The first `taken` have been taken.
        var offers: [ReceivedOffer] = []
        var taken = 0
        /// What the offers cost that are received and not reported as stored.
        var used: UInt64 = 0
        var mayOffer = false
        /// Until when a lane belongs to this host, by the bytes of its name.
        var deadlines: [[UInt8]: Instant] = [:]
        /// The reason of the plugin's `fail`.
        var failure: String?
    }

    private let window: UInt64
    private let offerBytes: Int
    private let board: SourceBoard
    private let bell: Doorbell
    private let state = Mutex(State())

    /// - Parameters:
    ///   - window, offerBytes: in bytes.
    ///   - bell: rung when there is something for the worker to do.
    init(_ reporting: PluginReporting, window: UInt64, offerBytes: Int, board: SourceBoard, bell: Doorbell) {
        self.reporting = reporting
        self.window = window
        self.offerBytes = offerBytes
        self.board = board
        self.bell = bell
    }

    // MARK: The worker

    /// Why the plugin says that it cannot go on; nil: it has not.
    var failure: String? { state.withLock { $0.failure } }

    /// Whether a lane may belong to another host by now.
    func hasExpired(_ lane: String, now: Instant) -> Bool {
        state.withLock { state in
            // Most sources have no such lane.
            !state.deadlines.isEmpty && state.deadlines[Array(lane.utf8)].map { now > $0 } ?? false
        }
    }

    func permitOffers(_ permitted: Bool) { state.withLock { $0.mayOffer = permitted } }

    /// The next offer, in the order in which they came.
    func takeOffer() -> ReceivedOffer? {
        state.withLock { state in
            guard state.taken < state.offers.count else { return nil }
            let offer = state.offers[state.taken]
            state.taken += 1
            // Moves the rest at most once for each offer, on average.
            if state.taken * 2 >= state.offers.count {
                state.offers.removeFirst(state.taken)
                state.taken = 0
            }
            return offer
        }
    }

    /// Gives back what stored offers cost. Call it before the plugin's process does the same.
    func release(_ cost: UInt64) { state.withLock { $0.used -= min(cost, $0.used) } }

    // MARK: The process's threads

    func longestMessage(_ type: plugin_channel_type) -> Int? {
        switch type {
        case PLUGIN_OFFER: Int(PLUGIN_CHANNEL_LIMIT)
        case PLUGIN_LANE_OPENED, PLUGIN_LANE_CLOSED, PLUGIN_LANE_UNTIL: Int(PLUGIN_LANE_LIMIT)
        case PLUGIN_PROBLEM, PLUGIN_FAIL: Int(PLUGIN_CHANNEL_REASON_LIMIT)
        default: nil
        }
    }

    func receive(_ type: plugin_channel_type, token: UInt64, _ body: [UInt8]) -> Bool {
        switch type {
        case PLUGIN_OFFER:
            guard let offer = ReceivedOffer(token: token, body, maximumBytes: offerBytes), queue(offer) else {
                return false
            }
            board.open(offer.lane.lane)
            bell.ring()
        case PLUGIN_LANE_OPENED:
            guard let name = ReceivedOffer.name(of: body) else { return false }
            board.open(name)
        case PLUGIN_LANE_CLOSED:
            guard let name = ReceivedOffer.name(of: body) else { return false }
            board.close(name)
        case PLUGIN_LANE_UNTIL:
            guard ReceivedOffer.name(of: body) != nil, setDeadline(of: body, Int64(bitPattern: token)) else {
                return false
            }
        case PLUGIN_PROBLEM:
            let problem = body.isEmpty ? nil : Self.text(body)
            if board.set(problem: problem) {
                reporting.emit(PluginSourceProblem(source: reporting.owner, problem: problem))
            }
        case PLUGIN_FAIL:
            let reason = body.isEmpty ? "the plugin gave no reason" : Self.text(body)
            state.withLock { if $0.failure == nil { $0.failure = reason } }
            bell.ring()
        default: return false
        }
        return true
    }

    func processEnded() { bell.ring() }

    /// - Returns: false if there are too many lanes.
    private func setDeadline(of lane: [UInt8], _ nanoseconds: Int64) -> Bool {
        state.withLock { state in
            guard state.deadlines[lane] != nil || state.deadlines.count < OpenLanes.limit else { return false }
            state.deadlines[lane] = Instant(nanoseconds: nanoseconds)
            return true
        }
    }

    /// - Returns: false if the plugin may not offer now, or the offer passes the window.
    private func queue(_ offer: ReceivedOffer) -> Bool {
        state.withLock { state in
            guard state.mayOffer, state.used == 0 || offer.cost <= window - min(state.used, window) else {
                return false
            }
            state.used += offer.cost
            state.offers.append(offer)
            return true
        }
    }

    private static func text(_ bytes: [UInt8]) -> String {
        PluginText.printable(String(decoding: bytes, as: UTF8.self), limit: Int(PLUGIN_CHANNEL_REASON_LIMIT))
    }
}
