import Control
import Delivery
import Events
import Platform
import Synchronization

/// Counts the events of a replay without sending them, on its own thread. One dry run at a time, because it reads as
/// much of the journal as the replay would. Any thread.
final class ReplayDryRun: Sendable {
    private static let readSize = 256 << 10
    /// The number of reads between two progress lines.
    private static let linePeriod = 64

    private struct State: Sendable {
        var thread: WorkerThread?
    }

    private let isRunning = Atomic(false)
    private let interruption = Interruption()
    private let over = Doorbell()
    private let state = Mutex(State())

    /// Answers with one `ReplayReport` per line. The last one has `isWhole` set if everything was counted.
    func start(
        _ replay: Replay, _ report: ReplayReport, _ log: any EventLog, _ worker: DeliveryWorker, _ reply: ControlReply
    ) {
        guard !interruption.isRaised else { return reply.fail(503, DiskRequests.stopping) }
        guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else {
            return reply.fail(409, "another dry run is in progress: try again when it is done")
        }
        state.withLock { state in
            // The previous thread has cleared `isRunning` and is about to end, so this does not block.
            state.thread?.join()
            state.thread = WorkerThread(name: "dry-run") {
                self.run(replay, report, ReplayLog(log, end: replay.end), worker, reply)
                self.isRunning.store(false, ordering: .releasing)
                self.over.ring()
            }
        }
    }

    /// Interrupts the running dry run. Returns at once.
    func requestStop() { interruption.raise() }

    /// Waits until the dry run has ended. A thread that hangs in a disk call is abandoned.
    func awaitEnd(by deadline: Instant) {
        guard let thread = state.withLock({ $0.thread.take() }) else { return }
        while isRunning.load(ordering: .acquiring), over.wait(until: deadline) {}
        if !isRunning.load(ordering: .acquiring) { thread.join() }
    }

    private func run(
        _ replay: Replay, _ report: ReplayReport, _ log: ReplayLog, _ worker: DeliveryWorker, _ reply: ControlReply
    ) {
        do {
            guard let router = try worker.makeBackfillRouter(replay, interruption) else {
                return reply.fail(500, "this destination does not support replay")
            }
            var warmup = worker.warmup(before: replay.start, router)
            while !interruption.isRaised, try warmup?.advance(maximumBytes: Self.readSize) == true {}
            let reader = try log.makeReader(from: replay.start)
            let lines = reply.startLines()
            var report = report
            var counts = ReplayReport.Counts()
            var (inbound, outbound) = (EventBatch(), OutboundBatch())
            var reads = 0
            while !interruption.isRaised, try reader.read(into: &inbound, maximumBytes: Self.readSize) {
                for event in inbound.events {
                    counts.read += 1
                    switch router.route(event, of: inbound, into: &outbound) {
                    case .routed: counts.delivered += 1
                    case .filtered: counts.filtered += 1
                    case .rejected: counts.rejected += 1
                    }
                    outbound.removeAll()
                }
                reads += 1
                report.counts = counts
                if reads % Self.linePeriod == 0, lines.send(try Self.line(report)) == .closed { return }
            }
            report.counts = counts
            report.isWhole = !interruption.isRaised
            lines.send(try Self.line(report))
            lines.finish()
        } catch {
            reply.fail(500, "\(error)")
        }
    }

    private static func line(_ report: ReplayReport) throws -> [UInt8] { Array(try report.line().dropLast()) }
}
