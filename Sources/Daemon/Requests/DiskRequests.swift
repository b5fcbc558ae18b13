import Control
import Events
import Platform
import Synchronization

/// A thread for work on the disk, one job at a time: control requests about dead letters and replays, and maintenance.
/// A job may take any time. The main thread never waits for one, except at the stop, up to a deadline. Any thread.
final class DiskRequests: Sendable {
    /// The most requests that may wait; further ones are refused.
    static let limit = 16

    static let stopping = "the daemon is stopping and has interrupted this request: try again when it runs"

    /// The interruption is raised when the daemon stops. The request has been answered by then.
    typealias Work = @Sendable (Interruption) -> Void

    private struct Job: Sendable {
        /// nil: maintenance.
        var reply: ControlReply?
        var work: Work
    }

    private struct State: Sendable {
        var waiting: [Job] = []
        var current: ControlReply?
        var hasMaintenance = false
        var thread: WorkerThread?
    }

    private let name: String
    private let limit: Int
    private let state = Mutex(State())
    private let interruption = Interruption()
    private let bell = Doorbell()
    private let ended = Atomic(false)
    private let over = Doorbell()

    /// - Parameters:
    ///   - name: the thread's name.
    ///   - limit: the most requests that may wait; further ones are refused.
    init(name: String = "disk-requests", limit: Int = DiskRequests.limit) {
        self.name = name
        self.limit = limit
    }

    func start() {
        let thread = WorkerThread(name: name) { self.run() }
        state.withLock { $0.thread = thread }
    }

    /// Queues a request, which `work` answers. If the queue is full or the daemon stops, the request is answered here.
    func add(_ reply: ControlReply, _ work: @escaping Work) {
        let isFull = state.withLock { state in
            guard !interruption.isRaised else { return false }
            guard state.waiting.count < limit else { return true }
            state.waiting.append(Job(reply: reply, work: work))
            return false
        }
        if isFull { return reply.fail(503, "\(limit) requests wait already: try again in a moment") }
        if interruption.isRaised { return reply.fail(503, Self.stopping) }
        bell.ring()
    }

    /// Queues maintenance, unless a maintenance job is waiting or running already.
    func addMaintenance(_ work: @escaping Work) {
        let isNew = state.withLock { state in
            guard !state.hasMaintenance, !interruption.isRaised else { return false }
            state.hasMaintenance = true
            state.waiting.append(Job(reply: nil, work: work))
            return true
        }
        if isNew { bell.ring() }
    }

    /// Interrupts the running job and answers all requests. Returns at once.
    func requestStop() {
        interruption.raise()
        let replies = state.withLock { state in
            defer { state.waiting = [] }
            return (state.waiting.map(\.reply) + [state.current]).compactMap { $0 }
        }
        for reply in replies { reply.fail(503, Self.stopping) }
        bell.ring()
    }

    /// Waits until the thread has ended.
    /// - Returns: false if the thread hangs in a disk call; it is abandoned.
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
                if job.reply == nil { state.hasMaintenance = false }
            }
        }
        ended.store(true, ordering: .releasing)
        over.ring()
    }
}
