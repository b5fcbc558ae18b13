import Delivery
import Events
import Platform
import PluginHosting
import Synchronization
import Telemetry

/// One process of a plugin under test, and what it did. Use by one thread.
final class ConformanceStage {
    /// The host's complaints: telemetry events that a plugin without faults does not cause.
    private static let complaints = [
        "plugin_settlement_late", "plugin_settlement_repeated", "plugin_settlement_unknown",
        "plugin_outcomes_unreadable", "plugin_deadline_passed", "plugin_metric_refused",
    ]

    /// A batch that was offered.
    final class Offer: Sendable {
        let positions: [UInt64]
        private let settlement = Mutex<DeliveryClaim.Settlement?>(nil)
        private let bell = Doorbell()

        init(_ positions: [UInt64]) { self.positions = positions }

        var isSettled: Bool { settlement.withLock { $0 != nil } }

        var outcomes: [Outcome] {
            switch settlement.withLock(\.self) {
            case .all(let outcome)?: Array(repeating: outcome, count: positions.count)
            case .each(let outcomes)?: outcomes
            case nil: []
            }
        }

        fileprivate func settle(_ settlement: DeliveryClaim.Settlement) {
            self.settlement.withLock { $0 = settlement }
            bell.ring()
        }

        /// - Returns: false if it is not settled in time.
        func wait(until end: Instant, _ clock: any Clock) -> Bool {
            while !isSettled, clock.now() < end { bell.wait(until: end) }
            return isSettled
        }
    }

    /// Keeps the lines for a finding.
    private final class Lines: LogSink {
        let lines = Mutex<[String]>([])
        func write(_ level: Level, _ line: String) { lines.withLock { $0.append(line) } }
    }

    let instance: ProcessInstance
    private let clock: any Clock
    private let deadline: Duration
    private let telemetry: Telemetry
    private let host: PluginHost
    private let watch: DeadlineWatch
    private let log = Lines()
    private var isStopped = false
    private var hasEnded = false

    /// Starts a process, loads the plugin and calls `create`.
    init(_ path: String, _ options: PluginDestinationOptions, _ clock: any Clock) throws {
        self.clock = clock
        deadline = options.deadline
        telemetry = Telemetry(sink: log, now: { clock.now().nanoseconds })
        host = PluginHost(
            destination: options.destination, journal: options.journal, telemetry: telemetry, minimum: .warning,
            passesOutput: false)
        instance = try ProcessInstance(PluginFile(at: path), options, host, clock)
        watch = try DeadlineWatch(host, clock)
    }

    deinit { end() }

    /// Offers events with these positions. Waits while the plugin is busy.
    /// - Throws: if the plugin does not take the batch.
    func offer(_ positions: [UInt64], attempt: UInt32 = 0, padding: Int = 0, isReplay: Bool = false) throws -> Offer {
        let offer = Offer(positions)
        let claim = DeliveryClaim { offer.settle($0) }
        let batch = PluginBatch(
            ConformanceEvents.batch(positions, attempt: attempt, padding: padding, isReplay: isReplay), held: 0, claim)
        let end = clock.now() + deadline
        while true {
            let (token, isFirst) = host.add(batch, deadline: clock.now() + deadline)
            if isFirst { watch.wake() }
            switch instance.deliver(batch, token: token, deadline: clock.now() + deadline) {
            case .taken: return offer
            case .failed(let reason):
                _ = host.withdraw(token)
                throw Nonconformance("deliver failed: \(reason)")
            case .busy:
                _ = host.withdraw(token)
                guard clock.now() < end else {
                    throw Nonconformance("deliver was BUSY for \(Readable.duration(deadline))")
                }
                host.room.wait(until: clock.now() + .milliseconds(20))
            }
        }
    }

    /// Waits until the batch is settled.
    func settle(_ offer: Offer) throws {
        guard offer.wait(until: clock.now() + deadline, clock) else {
            throw Nonconformance(
                instance.end
                    ?? "a batch of \(offer.positions.count) was not settled within \(Readable.duration(deadline))")
        }
        if let end = instance.end { throw Nonconformance(end) }
    }

    /// Waits for what must not come.
    func pause(_ time: Duration) { Doorbell().wait(until: clock.now() + time) }

    /// Stops and destroys the instance, if that has not been done.
    /// - Throws: what the host had to complain about since the start.
    func finish() throws {
        if !isStopped { try stop() }
        do {
            try instance.destroyInstance()
        } catch {
            throw Nonconformance("destroy: \(error)")
        }
        end()
        let counts = telemetry.counts()
        if let complaint = Self.complaints.first(where: { counts[$0] ?? 0 > 0 }) {
            let line = log.lines.withLock { $0.first { !$0.contains("log_line") } }
            throw Nonconformance(line ?? complaint)
        }
    }

    /// - Throws: if the process ended by itself.
    func stop() throws {
        instance.stop()
        isStopped = true
        if let end = instance.end { throw Nonconformance("stop: \(end)") }
    }

    private func end() {
        guard !hasEnded else { return }
        hasEnded = true
        if !isStopped { instance.stop() }
        isStopped = true
        watch.stop()
        host.close()
        instance.destroy()
    }
}
