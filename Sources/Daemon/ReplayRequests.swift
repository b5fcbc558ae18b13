import Control
import Delivery
import Events
import Journal
import Platform
import Routing
import Seams

/// Accepts and ends replays. Main thread.
struct ReplayRequests {
    let journal: Journal
    let pipeline: Pipeline
    let clock: any Clock
    let dryRun: ReplayDryRun

    private var cursors: JournalCursors { JournalCursors(journal: journal, owner: "") }

    func begin(_ order: ReplayOrder, eventsPerSecond: Int?, _ reply: ControlReply) {
        guard let destination = pipeline[order.destination] else { return reply.fail(404, "there is no destination \"\(order.destination)\"") }
        guard cursors.replay(of: order.destination) == nil else {
            return reply.fail(
                409, "a replay to \(order.destination) is under way: wait for it, or penstock replay \(order.destination) --cancel")
        }
        do {
            var (replay, report) = try plan(order, destination)
            replay.eventsPerSecond = order.eventsPerSecond ?? eventsPerSecond
            guard let cursor = JournalCursor(replay) else { return reply.fail(400, "the filter is too long to be kept with the replay: shorten it") }
            journal.setReplay(of: order.destination, to: cursor)
            do {
                try journal.commit()
            } catch {
                journal.setReplay(of: order.destination, to: nil)
                throw error
            }
            destination.worker.backfill()
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

    func cancel(_ name: String, _ reply: ControlReply) {
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

    /// Ends those whose destinations are gone.
    /// - Returns: their names.
    func end(without configured: [String]) -> [String] {
        let gone = journal.replays.filter { !configured.contains($0) }
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
        if journal.firstPosition > 0, let kept = try journal.firstTime(), kept > order.from { missing = min(kept, until) - order.from }
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
