import Assembly
import Configuration
import Control
import Events
import Explanation
import Journal
import Platform
import Synchronization

/// Explains events under the running configuration, on a thread of its own, one request at a time: `POST /explain`. The
/// configuration is read again from its texts, with placeholders for the secrets, so no answer can hold a secret.
///
/// Transforms that depend on earlier events (`dedupe`) are explained as if those were unknown: to find them could mean
/// to read the whole journal. Any thread.
final class ExplainRequests: Sendable {
    /// The most requests that may wait.
    static let limit = 8
    /// How long a client waits. Scripts, patterns and sizes are bounded, so an explanation takes some milliseconds.
    static let patience = Duration.seconds(10)

    private struct Prepared {
        var version: UInt64
        var configuration: Configuration
    }

    let queue = DiskRequests(name: "explain", limit: ExplainRequests.limit)
    private let files: RunningFiles
    private let journal: Journal
    private let clock: any Clock
    private let pluginDirectories: [String]
    /// Calls the closure after a time.
    private let later: @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    /// The configuration of the last request.
    private let prepared = Mutex<Prepared?>(nil)

    init(
        files: RunningFiles, journal: Journal, clock: any Clock, pluginDirectories: [String],
        later: @escaping @Sendable (Duration, @escaping @Sendable () -> Void) -> Void
    ) {
        self.files = files
        self.journal = journal
        self.clock = clock
        self.pluginDirectories = pluginDirectories
        self.later = later
    }

    func add(_ order: ExplainOrder, _ reply: ControlReply) {
        queue.add(reply) { [self] interruption in
            guard !interruption.isRaised else { return }
            do {
                explain(order, try configuration(), reply)
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

    /// The running configuration with placeholders for its secrets. Called only on the thread of `queue`.
    private func configuration() throws(OperatorError) -> Configuration {
        guard let (texts, version) = files.texts else {
            throw OperatorError("the running configuration is too large to be explained here: use penstock explain")
        }
        if let known = prepared.withLock({ $0 }), known.version == version { return known.configuration }
        let loaded = ConfigurationLoader.withStandIns(pluginDirectories: pluginDirectories)
            .load(texts: texts, of: files.file)
        guard let configuration = loaded.configuration else {
            throw OperatorError(
                "the running configuration cannot be read again: "
                    + (loaded.errors.first.map(\.description) ?? "unknown"))
        }
        prepared.withLock { $0 = Prepared(version: version, configuration: configuration) }
        return configuration
    }
}
