import Assembly
import Control
import Delivery
import Events
import Journal
import JournalAdapters
import Platform
import Routing
import Synchronization

/// Starts, counts and cancels replays, one request at a time, on the thread of `DiskRequests`.
final class ReplayRequests: Sendable {
    let dryRun: ReplayDryRun
    private let journal: Journal
    private let pipeline: Pipeline
    private let clock: any Clock
    /// The configured destinations, each with its `replay.events_per_second`.
    private let configured = Mutex<[String: Int?]>([:])

    init(journal: Journal, pipeline: Pipeline, clock: any Clock, dryRun: ReplayDryRun) {
        self.journal = journal
        self.pipeline = pipeline
        self.clock = clock
        self.dryRun = dryRun
    }

    private var cursors: JournalCursors { JournalCursors(journal: journal, owner: "") }

    /// Starts a replay and makes it durable, so that it continues after a restart.
    /// - Parameter interruption: raised when the daemon stops. The request is answered by then, and no replay starts.
    func begin(_ order: ReplayOrder, _ interruption: Interruption, _ reply: ControlReply) {
        guard let destination = pipeline[order.destination] else {
            return reply.fail(404, "there is no destination \"\(order.destination)\"")
        }
        guard cursors.replay(of: order.destination) == nil else {
            return reply.fail(
                409,
                "a replay to \(order.destination) is in progress: wait for it, or cancel it: "
                    + "penstock replay \(order.destination) --cancel"
            )
        }
        do {
            var (replay, report) = try plan(order, destination)
            let isConfigured = configured.withLock { $0[order.destination] }
            replay.eventsPerSecond = order.eventsPerSecond ?? isConfigured ?? nil
            guard let cursor = JournalCursor(replay) else {
                return reply.fail(400, "the filter is too long to be stored with the replay: shorten it")
            }
            guard !interruption.isRaised else { return }
            journal.setReplay(of: order.destination, to: cursor)
            do {
                try journal.commit()
            } catch {
                journal.setReplay(of: order.destination, to: nil)
                throw error
            }
            if interruption.isRaised {
                journal.setReplay(of: order.destination, to: nil)
                return try journal.commit()
            }
            // A reload may have removed the destination in the meantime. Either the reload has cancelled this replay,
            // or it is cancelled here.
            guard configured.withLock({ $0[order.destination] }) != nil else {
                journal.setReplay(of: order.destination, to: nil)
                return reply.fail(
                    404, "destination \"\(order.destination)\" has just been removed from the configuration")
            }
            // A reload may have replaced the worker. A worker that starts later finds the replay by itself.
            pipeline[order.destination]?.worker.backfill()
            report.id = replay.id
            reply.respond(report, status: 202)
        } catch {
            fail(error, reply)
        }
    }

    func count(_ order: ReplayOrder, _ reply: ControlReply) {
        guard let destination = pipeline[order.destination] else {
            return reply.fail(404, "there is no destination \"\(order.destination)\"")
        }
        do {
            let (replay, report) = try plan(order, destination)
            dryRun.start(replay, report, JournalLog(journal: journal), destination.worker, reply)
        } catch {
            fail(error, reply)
        }
    }

    func cancel(_ name: String, _ interruption: Interruption, _ reply: ControlReply) {
        guard !interruption.isRaised else { return }
        guard let replay = cursors.replay(of: name) else {
            return reply.fail(404, "no replay to \"\(name)\" is in progress")
        }
        do {
            journal.setReplay(of: name, to: nil)
            try journal.commit()
            pipeline[name]?.worker.backfill()
            reply.respond(["id": replay.id])
        } catch {
            reply.fail(500, "\(error)")
        }
    }

    /// Sets the configured destinations, each with its `replay.events_per_second`, and cancels the replays of all other
    /// destinations. Main thread.
    /// - Returns: the names of the destinations whose replays were cancelled.
    func configure(_ destinations: [String: Int?]) -> [String] {
        configured.withLock { $0 = destinations }
        let gone = journal.replays.filter { destinations[$0] == nil }
        for name in gone { journal.setReplay(of: name, to: nil) }
        return gone
    }

    private func plan(_ order: ReplayOrder, _ destination: RunningDestination) throws -> (Replay, ReplayReport) {
        if let condition = order.condition {
            do throws(FilterError) { _ = try Filter(parsing: condition) } catch {
                throw OperatorError("--where: \(error)")
            }
        }
        let now = clock.wallClock()
        let until = order.until ?? now
        guard order.from < until else {
            throw OperatorError("the replay would end before it begins: give an earlier --from or a later --until")
        }
        // Later events are not delivered yet; live delivery brings them.
        let live = max(journal.cursor(of: order.destination)?.position ?? 0, destination.worker.status.positionSettled)
        let first = try journal.position(at: order.from)
        let end = min(try journal.position(at: until), live)
        var missing: Int64 = 0
        // A journal that still holds its first event has lost nothing to retention.
        if journal.firstPosition > 0, let kept = try journal.firstTime(), kept > order.from {
            missing = min(kept, until).saturatingSubtract(order.from)
        }
        guard first < end else {
            throw OperatorError(
                missing > 0
                    ? "the journal no longer holds events of that time (journal.retain)"
                    : "\(order.destination) has had no events of that time")
        }
        var generator = SystemRandomNumberGenerator()
        let number = String(generator.next() as UInt32, radix: 16)
        let replay = Replay(
            id: String(repeating: "0", count: 8 - number.count) + number, from: order.from, until: until,
            positions: first..<end,
            condition: order.condition, eventsPerSecond: order.eventsPerSecond, acceptedAt: now)
        return (
            replay,
            ReplayReport(
                id: nil, destination: order.destination, start: first, end: end, missingSeconds: Double(missing) / 1e9)
        )
    }

    private func fail(_ error: any Error, _ reply: ControlReply) {
        reply.fail(error is OperatorError ? 400 : 500, "\(error)")
    }
}
