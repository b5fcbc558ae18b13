import Control
import Events
import Platform
import Synchronization

/// Work that reads or changes what is on the disk, one piece after the other, on a thread of its own: requests from
/// the control socket about dead letters and replays, and housekeeping. It may take as long as it takes: the main
/// thread never waits for it, but for its end when the daemon stops. Any thread.
final class DiskRequests: Sendable {
    /// Requests that may wait; one more is refused.
    static let limit = 16

    static let stopping = "the daemon is stopping and has interrupted this request: ask again when it runs"

    /// The interruption is raised when the daemon stops. The request has been answered then.
    typealias Work = @Sendable (Interruption) -> Void

    private struct Job: Sendable {
        /// nil: housekeeping.
        var reply: ControlReply?
        var work: Work
    }

    private struct State: Sendable {
        var waiting: [Job] = []
        var current: ControlReply?
        var hasHousekeeping = false
        var thread: WorkerThread?
    }

    private let state = Mutex(State())
    private let interruption = Interruption()
    private let bell = Doorbell()
    private let ended = Atomic(false)
    private let over = Doorbell()

    func start() {
        let thread = WorkerThread(name: "disk-requests") { self.run() }
        state.withLock { $0.thread = thread }
    }

    /// Adds a request. `work` answers it; when the queue is full, or the daemon stops, it is answered here.
    func add(_ reply: ControlReply, _ work: @escaping Work) {
        let isFull = state.withLock { state in
            guard !interruption.isRaised else { return false }
            guard state.waiting.count < Self.limit else { return true }
            state.waiting.append(Job(reply: reply, work: work))
            return false
        }
        if isFull { return reply.fail(503, "\(Self.limit) requests wait for the disk already: ask again in a moment") }
        if interruption.isRaised { return reply.fail(503, Self.stopping) }
        bell.ring()
    }

    /// Adds housekeeping, unless some is under way already.
    func keepHouse(_ work: @escaping Work) {
        let isNew = state.withLock { state in
            guard !state.hasHousekeeping, !interruption.isRaised else { return false }
            state.hasHousekeeping = true
            state.waiting.append(Job(reply: nil, work: work))
            return true
        }
        if isNew { bell.ring() }
    }

    /// Interrupts what is under way and answers every request. Returns at once.
    func requestStop() {
        interruption.raise()
        let replies = state.withLock { state in
            defer { state.waiting = [] }
            return (state.waiting.map(\.reply) + [state.current]).compactMap { $0 }
        }
        for reply in replies { reply.fail(503, Self.stopping) }
        bell.ring()
    }

    /// Waits for the thread's end.
    /// - Returns: false: it is in a call to the disk that does not return, and is left behind.
    @discardableResult
    func awaitEnd(by deadline: Instant) -> Bool {
        guard let thread = state.withLock({ $0.thread.take() }) else { return true }
        while !ended.load(ordering: .acquiring) {
            guard over.wait(until: deadline) else { break }
        }
        guard ended.load(ordering: .acquiring) else { return false }
        thread.join()
        return true
    }

    private func run() {
        while !interruption.isRaised {
            let job = state.withLock { state in
                let job = state.waiting.isEmpty ? nil : state.waiting.removeFirst()
                state.current = job?.reply
                return job
            }
            guard let job else {
                bell.wait()
                continue
            }
            job.work(interruption)
            state.withLock { state in
                state.current = nil
                if job.reply == nil { state.hasHousekeeping = false }
            }
        }
        ended.store(true, ordering: .releasing)
        over.ring()
    }
}
