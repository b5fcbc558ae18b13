import Assembly
import DaemonConfiguration
import Control
import Events
import Explanation
import Journal
import Platform

/// Explains events under the running configuration, on a thread of its own, one request at a time: `POST /explain`. No
/// answer can hold a secret (`RunningConfiguration`).
///
/// Transforms that depend on earlier events (`dedupe`) are explained as if those were unknown: to find them could mean
/// to read the whole journal. Any thread.
final class ExplainRequests: Sendable {
    /// The most requests that may wait.
    static let limit = 8
    /// How long a client waits. Scripts, patterns and sizes are bounded, so an explanation takes some milliseconds.
    static let patience = Duration.seconds(10)

    let queue = DiskRequests(name: "explain", limit: ExplainRequests.limit)
    private let running: RunningConfiguration
    private let journal: Journal
    private let clock: any Clock
    /// Calls the closure after a time.
    private let later: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void

    init(
        running: RunningConfiguration, journal: Journal, clock: any Clock,
        later: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    ) {
        self.running = running
        self.journal = journal
        self.clock = clock
        self.later = later
    }

    func add(_ order: ExplainOrder, _ reply: ControlReply) {
        queue.add(reply) { [self] interruption in
            guard !interruption.isRaised else { return }
            do {
                explain(order, try running.read().configuration, reply)
            } catch {
                reply.fail(500, "\(error)")
            }
        }
        later(Self.patience) { [weak reply] in
            reply?.fail(503, "the explanation takes longer than \(Readable.duration(Self.patience)): try again")
        }
    }

    private func explain(_ order: ExplainOrder, _ configuration: Configuration, _ reply: ControlReply) {
        let explainer = EventExplainer(
            configuration, source: order.source, host: HostName.current, earlier: .unknown,
            userNames: UserNameCache.shared.lookUp)
        let explanation: EventExplanation
        do {
            if let position = order.position {
                var batch = EventBatch()
                let reader = journal.makeReader(from: position)
                guard try reader.read(into: &batch, maximumBytes: 1),
                    let event = batch.events.first(where: { $0.position == position })
                else { return reply.fail(404, "the journal has no event at position \(position) any more") }
                explanation = try explainer.explain(stored: event, of: batch)
            } else if let text = order.event {
                explanation = explainer.explain(
                    Array(text.utf8), position: journal.durableEnd, receivedAt: clock.wallClock())
            } else {
                return reply.fail(400, "the request names no event: give a position or an event")
            }
        } catch {
            return reply.fail(500, "\(error)")
        }
        reply.respond(contentType: "application/json", body: Array(explanation.json.text.utf8))
    }
}
