// A sink plugin for tests: an `AsyncSink` of PenstockPluginKit. Each event says what becomes of it, by a word in its
// payload: `"do":"reject"`, `retry`, `throw`, `busy`, `forget`, `hang` or `linger`.

import CPenstockPlugin
import PenstockPluginKit
import Synchronization

final class AsyncTestSink: AsyncSink {
    struct Settings: Decodable {
        /// How long each batch takes.
        var milliseconds: Int
        var inFlight: Int?
        /// Whether each batch waits, before it begins, until `inFlight` batches have been in flight at once.
        var together: Bool?
        var list: [Int]?
    }

    /// Without a schema: the kit decodes whatever settings a test passes.
    static let plugin = Plugin(name: "asyncsink", version: "1.0", summary: "Delivers later", needs: "")

    private let host: Host
    private let settings: Settings
    private let now = Mutex((running: 0, most: 0))

    var limits: Limits { Limits(maxInFlight: settings.inFlight ?? 1, maxBatchEvents: 100) }

    init(settings: Settings, host: Host) throws {
        guard settings.milliseconds >= 0 else { throw SinkError("settings.milliseconds: must be 0 or more") }
        self.settings = settings
        self.host = host
    }

    func deliver(_ batch: Batch) async throws -> [Outcome] {
        begin()
        defer { end() }
        if settings.together == true { await waitForOthers() }
        let words = batch.map { Self.word(in: $0.payload) }
        if words.contains("hang") { try await Task.sleep(for: .seconds(3600)) }
        if words.contains("linger") { await Self.ignoreCancellation(for: .milliseconds(settings.milliseconds)) }
        try await Task.sleep(for: .milliseconds(settings.milliseconds))
        if words.contains("throw") { throw SinkError("the store is closed") }
        if words.contains("busy") { throw SinkBusy() }
        host.count("delivered", by: UInt64(words.count { $0 == nil }))
        let outcomes: [Outcome] = zip(batch, words).map { event, word in
            switch word {
            case "reject": .rejected(reason: "event \(event.position) is refused")
            case "retry": .retry(reason: "not now", after: .seconds(2))
            default: .delivered
            }
        }
        // Fewer outcomes than events.
        return Array(outcomes.prefix(words.firstIndex(of: "forget") ?? words.count))
    }

    func stop() { host.gauge("running_at_stop", Double(now.withLock(\.running))) }

    private func begin() {
        now.withLock { now in
            now.running += 1
            now.most = max(now.most, now.running)
            host.gauge("most_in_flight", Double(now.most))
        }
    }

    private func end() { now.withLock { $0.running -= 1 } }

    /// Waits at most 30 seconds: a host that offers no other batch gets its outcomes all the same.
    private func waitForOthers() async {
        let limit = ContinuousClock.now + .seconds(30)
        while now.withLock(\.most) < settings.inFlight ?? 1, ContinuousClock.now < limit {
            await Self.ignoreCancellation(for: .milliseconds(1))
        }
    }

    private static func ignoreCancellation(for time: Duration) async {
        await Task.detached { try? await Task.sleep(for: time) }.value
    }

    private static func word(in payload: String) -> String? {
        guard let start = payload.firstRange(of: #""do":""#)?.upperBound else { return nil }
        return String(payload[start...].prefix { $0 != "\"" })
    }
}

@c @implementation
public func penstock_plugin_entry(_ hostMajor: UInt32, _ hostMinor: UInt32) -> UnsafePointer<penstock_plugin>! {
    unsafe entry(to: AsyncTestSink.self, hostMajor)
}
