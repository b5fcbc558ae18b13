import Control
import Delivery
import Events
import Journal
import Platform
import Routing
import Seams
import Synchronization

/// Accepts, counts and cancels replays, on the thread of `DiskRequests`; one at a time.
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

    /// - Parameter interruption: raised when the request was answered because the daemon stops; then nothing begins.
    func begin(_ order: ReplayOrder, _ interruption: Interruption, _ reply: ControlReply) {
        guard let destination = pipeline[order.destination] else { return reply.fail(404, "there is no destination \"\(order.destination)\"") }
        guard cursors.replay(of: order.destination) == nil else {
            return reply.fail(
                409, "a replay to \(order.destination) is under way: wait for it, or penstock replay \(order.destination) --cancel")
        }
        do {
            var (replay, report) = try plan(order, destination)
            let isConfigured = configured.withLock { $0[order.destination] }
            replay.eventsPerSecond = order.eventsPerSecond ?? isConfigured ?? nil
            guard let cursor = JournalCursor(replay) else { return reply.fail(400, "the filter is too long to be kept with the replay: shorten it") }
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
            // A reload may have taken the destination away meanwhile. Either it has ended this replay, or it does so here.
            guard configured.withLock({ $0[order.destination] }) != nil else {
                journal.setReplay(of: order.destination, to: nil)
                return reply.fail(404, "destination \"\(order.destination)\" has just left the configuration")
            }
            // The worker may be another one by now; one that starts later looks for the replay by itself.
            pipeline[order.destination]?.worker.backfill()
            report.id = replay.id
            reply.respond(report, status: 202)
        } catch {
            fail(error, reply)
        }
    }

    func count(_ order: ReplayOrder, _ reply: ControlReply) {
        guard let destination = pipeline[order.destination] else { return reply.fail(404, "there is no destination \"\(order.destination)\"") }
        do {
            let (replay, report) = try plan(order, destination)
            dryRun.start(replay, report, JournalLog(journal: journal), destination.worker, reply)
        } catch {
            fail(error, reply)
        }
    }

    func cancel(_ name: String, _ interruption: Interruption, _ reply: ControlReply) {
        guard !interruption.isRaised else { return }
        guard let replay = cursors.replay(of: name) else { return reply.fail(404, "no replay to \"\(name)\" is under way") }
        do {
            journal.setReplay(of: name, to: nil)
            try journal.commit()
            pipeline[name]?.worker.backfill()
            reply.respond(["id": replay.id])
        } catch {
            reply.fail(500, "\(error)")
        }
    }

    /// Takes the configured destinations, each with its `replay.events_per_second`, and ends the replays of others. Main
    /// thread.
    /// - Returns: the names of those.
    func configure(_ destinations: [String: Int?]) -> [String] {
        configured.withLock { $0 = destinations }
        let gone = journal.replays.filter { destinations[$0] == nil }
        for name in gone { journal.setReplay(of: name, to: nil) }
        return gone
    }

    private func plan(_ order: ReplayOrder, _ destination: RunningDestination) throws -> (Replay, ReplayReport) {
        if let condition = order.condition {
            do throws(FilterError) { _ = try Filter(parsing: condition) } catch { throw DaemonError("--where: \(error)") }
        }
        let now = clock.wallClock()
        let until = order.until ?? now
        guard order.from < until else { throw DaemonError("the replay would end before it begins: give an earlier --from, or a later --until") }
        // What is not delivered yet comes by itself.
        let live = max(journal.cursor(of: order.destination)?.position ?? 0, destination.worker.status.positionSettled)
        let first = try journal.position(at: order.from)
        let end = min(try journal.position(at: until), live)
        var missing: Int64 = 0
        // Nothing is missing of a journal that holds its first event.
        if journal.firstPosition > 0, let kept = try journal.firstTime(), kept > order.from { missing = min(kept, until).saturatingSubtract(order.from) }
        guard first < end else {
            throw DaemonError(
                missing > 0
                    ? "the journal does not hold events of that time any more (journal.retain)"
                    : "\(order.destination) has had no events of that time")
        }
        var generator = SystemRandomNumberGenerator()
        let number = String(generator.next() as UInt32, radix: 16)
        let replay = Replay(
            id: String(repeating: "0", count: 8 - number.count) + number, from: order.from, until: until, positions: first..<end,
            condition: order.condition, eventsPerSecond: order.eventsPerSecond, acceptedAt: now)
        return (
            replay,
            ReplayReport(
                id: nil, destination: order.destination, start: first, end: end, missingSeconds: Double(missing) / 1e9)
        )
    }

    private func fail(_ error: any Error, _ reply: ControlReply) {
        reply.fail(error is DaemonError ? 400 : 500, "\(error)")
    }
}
