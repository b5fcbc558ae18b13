import Control
import Events
import Ingest
import Journal
import Platform
import Synchronization

/// The running taps. While there are none, a worker reads one atomic per batch, and sources and the journal know
/// nothing of taps: accepted events are read from the journal, and refusals from the counters of the sources.
///
/// A tap never slows the flow. What passes is put into the tap's queue, which has a fixed size, by reference. The tap's
/// own thread does everything else, and works at most a part of the time. Events that a tap cannot take are counted,
/// and its client gets their number. Any thread.
final class LiveTap: Sendable {
    /// The most taps at a time.
    static let limit = 8
    /// The most of them that sample for the page, so that the command can always have one.
    static let sampledLimit = 4

    private struct State {
        var running: [Tapper] = []
        /// Taps whose threads have ended or are about to.
        var ended: [Tapper] = []
        var isStopping = false
    }

    private let journal: Journal
    private let status: StatusCollector
    private let clock: any Clock
    private let state = Mutex(State())
    /// The number of taps that watch destinations.
    private let watching = Atomic(0)

    init(journal: Journal, status: StatusCollector, clock: any Clock) {
        self.journal = journal
        self.status = status
        self.clock = clock
    }

    /// One relaxed load.
    @inline(__always)
    var isWatching: Bool { watching.load(ordering: .relaxed) > 0 }

    func watches(_ stage: TapOrder.Stage, of destination: String) -> Bool {
        state.withLock { $0.running.contains { $0.watches(stage, of: destination) } }
    }

    func take(_ item: TapItem, _ stage: TapOrder.Stage, of destination: String) {
        state.withLock { state in
            for tapper in state.running where tapper.watches(stage, of: destination) { tapper.queue.put(item) }
        }
    }

    /// Starts a tap, which answers with a stream of lines. Does not block.
    func start(_ order: TapOrder, _ matcher: TapMatcher?, _ reply: ControlReply) {
        let refusal = state.withLock { state -> (Int, String)? in
            state.ended.removeAll { $0.reap() }
            guard !state.isStopping else { return (503, DiskRequests.stopping) }
            guard state.running.count < Self.limit else {
                return (503, "\(Self.limit) taps run already: end one of them")
            }
            guard order.rate == nil || state.running.count(where: \.isSampled) < Self.sampledLimit else {
                return (503, "\(Self.sampledLimit) sampled taps run already: close another page's debugger")
            }
            let tapper = Tapper(
                order, matcher, journal: journal, status: status, clock: clock, reply: reply,
                onEnd: { [weak self] in self?.end($0) })
            // Before its thread runs: from then on, a client may count on seeing what passes.
            if tapper.watchesDestinations { watching.add(1, ordering: .relaxed) }
            do throws(SystemError) { try tapper.start() } catch {
                if tapper.watchesDestinations { watching.subtract(1, ordering: .relaxed) }
                return (503, "a tap needs a thread: \(error)")
            }
            state.running.append(tapper)
            return nil
        }
        if let (status, message) = refusal { reply.fail(status, message) }
    }

    private func end(_ tapper: Tapper) {
        state.withLock { state in
            guard let index = state.running.firstIndex(where: { $0 === tapper }) else { return }
            state.ended.append(state.running.remove(at: index))
            if tapper.watchesDestinations { watching.subtract(1, ordering: .relaxed) }
        }
        // Nothing is put there from here on.
        tapper.queue.clear()
    }

    /// Ends all taps. Returns at once.
    func requestStop() {
        let running = state.withLock { state in
            state.isStopping = true
            return state.running
        }
        for tapper in running { tapper.requestStop() }
    }

    /// Waits until all taps have ended. A thread that hangs in a disk call is abandoned.
    func awaitEnd(by deadline: Instant) {
        let pause = Doorbell()
        while clock.now() < deadline, state.withLock({ !$0.running.isEmpty }) {
            pause.wait(until: clock.now() + .milliseconds(2))
        }
        let ended = state.withLock { state in
            defer { state.ended = [] }
            return state.ended
        }
        for tapper in ended { _ = tapper.reap() }
    }
}
