import Control
import Delivery
import Events
import Platform
import Synchronization

/// Counts what a replay would bring, on a thread of its own: one at a time, since it reads as much as the replay
/// itself. Any thread.
final class ReplayDryRun: Sendable {
    private static let readSize = 256 << 10
    /// Reads from one progress line to the next.
    private static let linePeriod = 64

    private struct State: Sendable {
        var thread: WorkerThread?
    }

    private let isRunning = Atomic(false)
    private let interruption = Interruption()
    private let over = Doorbell()
    private let state = Mutex(State())

    /// Answers with lines of `ReplayReport`s; the last one says that it is whole.
    func start(_ replay: Replay, _ report: ReplayReport, _ log: any EventLog, _ worker: DeliveryWorker, _ reply: ControlReply) {
        guard !interruption.isRaised else { return reply.fail(503, DiskRequests.stopping) }
        guard !isRunning.exchange(true, ordering: .acquiringAndReleasing) else {
            return reply.fail(409, "another dry run is under way: wait for it")
        }
        state.withLock { state in
            // It has said that it is over, so this does not wait.
            state.thread?.join()
            state.thread = WorkerThread(name: "dry-run") {
                self.run(replay, report, ReplayLog(log, end: replay.end), worker, reply)
                self.isRunning.store(false, ordering: .releasing)
                self.over.ring()
            }
        }
    }

    /// Ends one that is under way. Returns at once.
    func requestStop() { interruption.raise() }

    /// Waits for its end. One that does not come back from a call to the disk is left behind.
    func awaitEnd(by deadline: Instant) {
        guard let thread = state.withLock({ $0.thread.take() }) else { return }
        while isRunning.load(ordering: .acquiring), over.wait(until: deadline) {}
        if !isRunning.load(ordering: .acquiring) { thread.join() }
    }

    private func run(_ replay: Replay, _ report: ReplayReport, _ log: ReplayLog, _ worker: DeliveryWorker, _ reply: ControlReply) {
        do {
            guard let router = try worker.makeBackfillRouter(replay, interruption) else { return reply.fail(500, "this destination cannot be replayed to") }
            var recollection = worker.recollection(before: replay.start, router)
            while !interruption.isRaised, try recollection?.advance(maximumBytes: Self.readSize) == true {}
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
