import Platform
import Synchronization

/// Lets the worker route the next events while a destination writes the last ones: hands it large batches on a thread
/// of their own. Every other call comes from the worker while that thread is idle, so the destination still gets one
/// call at a time.
///
/// A small batch is delivered at once. Under light load there is nothing to route meanwhile, and to wake another thread
/// takes longer than the write.
package final class WritingThread: Destination {
    /// The smallest payload that is worth a switch of threads.
    private static let largeBatch = 256 << 10

    private let destination: any Destination
    private let shared: SharedState
    private let thread: WorkerThread

    /// - Parameters:
    ///   - destination: settles each claim before its `deliver` returns. Used by nobody else.
    ///   - name: the destination's name, for the thread's name.
    package init(_ destination: any Destination, name: String) {
        let shared = SharedState(destination)
        self.destination = destination
        self.shared = shared
        thread = WorkerThread(name: "write-\(name)") { shared.run() }
    }

    deinit {
        shared.end()
        thread.join()
    }

    package func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
        shared.waitUntilIdle()
        guard batch.payload.count >= Self.largeBatch else { return destination.deliver(batch, claim) }
        shared.begin(Job(batch: batch, claim: claim))
    }

    // MARK: While nothing is written

    private var idle: any Destination {
        shared.waitUntilIdle()
        return destination
    }

    package var limits: DestinationLimits { idle.limits }
    package func attach(wake: @escaping @Sendable () -> Void) { idle.attach(wake: wake) }
    package func open(from cursor: Cursor) throws -> UInt64? { try idle.open(from: cursor) }
    package func checkpoint() throws -> [UInt8]? { try idle.checkpoint() }
    package func checkpoint(settled position: UInt64) throws -> Cursor? { try idle.checkpoint(settled: position) }
    package var checkpointsLate: Bool { destination.checkpointsLate }
    package var settlesAtOnce: Bool { destination.settlesAtOnce }
    package func close() { idle.close() }

    // MARK: The thread

    private struct Job: ~Copyable, Sendable {
        let batch: OutboundBatch
        let claim: DeliveryClaim
    }

    // Unchecked: the destination is used by the thread while it is busy, and by the worker while it is not.
    private final class SharedState: @unchecked Sendable {
        private struct State: ~Copyable {
            var job: Job?
            var isOver = false
        }

        private let destination: any Destination
        private let state = Mutex(State())
        private let isBusy = Atomic(false)
        private let asked = Doorbell()
        private let finished = Doorbell()

        init(_ destination: any Destination) { self.destination = destination }

        /// - Precondition: `waitUntilIdle` has returned, and nothing was begun since.
        func begin(_ job: consuming Job) {
            isBusy.store(true, ordering: .releasing)
            var job = Optional(job)
            state.withLock { $0.job = job.take() }
            asked.ring()
        }

        func waitUntilIdle() {
            while isBusy.load(ordering: .acquiring) { finished.wait() }
        }

        func end() {
            state.withLock { $0.isOver = true }
            asked.ring()
        }

        func run() {
            while true {
                if let job = state.withLock({ $0.job.take() }) {
                    write(job)
                } else if state.withLock({ $0.isOver }) {
                    return
                } else {
                    asked.wait()
                }
            }
        }

        private func write(_ job: consuming Job) {
            let claim = job.claim
            let settlement = deliver(job.batch)
            // First, because the worker may offer the next batch as soon as this one is settled.
            isBusy.store(false, ordering: .releasing)
            finished.ring()
            claim.settle(settlement)
        }

        /// Nobody but the worker has the batch when this returns, so it can use the batch's memory again.
        private func deliver(_ batch: consuming OutboundBatch) -> DeliveryClaim.Settlement {
            let result = Mutex<DeliveryClaim.Settlement?>(nil)
            destination.deliver(batch, DeliveryClaim { settlement in result.withLock { $0 = settlement } })
            return result.withLock { $0 } ?? .all(.retry(reason: "the destination reported no outcome for the batch"))
        }
    }
}
