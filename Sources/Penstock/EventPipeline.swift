import Synchronization

/// What an event goes through once it is encoded: middleware, consent, providers. One for an
/// ``Analytics`` and all that are scoped from it.
///
/// No lock is held while middleware and providers run.
final class EventPipeline: Sendable {
    struct RegisteredProvider: Sendable {
        let name: String
        let provider: any AnalyticsProvider
        var isEnabled = true
    }

    /// What a thread needs to know to hand on an event; replaced as a whole.
    final class Route: Sendable {
        let providers: [RegisteredProvider]
        let middleware: [Middleware]
        /// Whether nothing is held or discarded: the gate need not be asked.
        let isGateOpen: Bool

        init(providers: [RegisteredProvider], middleware: [Middleware], isGateOpen: Bool) {
            self.providers = providers
            self.middleware = middleware
            self.isGateOpen = isGateOpen
        }
    }

    private struct Counters: ~Copyable, Sendable {
        let recorded = Atomic(0)
        let filtered = Atomic(0)
        let discarded = Atomic(0)
        let dropped = Atomic(0)
        let failed = Atomic(0)
    }

    let diagnostics: DiagnosticsHandler
    private let route: Mutex<Route>
    private let gate: ConsentGate
    private let counters = Counters()
    private let writers = Mutex<[JSONWriter]>([])

    /// Writers that are kept: more are only made while more threads encode at once.
    private static let writerLimit = 16
    /// Bytes that a kept writer's buffer has at most.
    private static let writerSize = 64 << 10

    init(consent: Consent, heldEvents: Int, diagnostics: DiagnosticsHandler) {
        self.diagnostics = diagnostics
        gate = ConsentGate(consent, capacity: heldEvents)
        route = Mutex(Route(providers: [], middleware: [], isGateOpen: consent == .on))
    }

    // MARK: Events

    /// Whether an event of this category can come to anything; if not, it is counted.
    func isWanted(_ category: ConsentCategory) -> Bool {
        if route.withLock({ $0 }).isGateOpen { return true }
        let consent = gate.consent
        if consent.isGranted(category) || consent.withheld == .hold { return true }
        counters.discarded.add(1, ordering: .relaxed)
        return false
    }

    /// Hands on an event, in the calling thread.
    func record(_ event: consuming RecordedEvent) {
        let route = route.withLock { $0 }
        for middleware in route.middleware where !middleware.process(&event) {
            counters.filtered.add(1, ordering: .relaxed)
            return
        }
        if !route.isGateOpen {
            switch gate.admit(event) {
            case .pass: break
            case .held: return
            case .discarded:
                counters.discarded.add(1, ordering: .relaxed)
                return
            case .full:
                drop(event)
                return
            }
        }
        deliver(event, to: route.providers)
    }

    private func deliver(_ event: RecordedEvent, to providers: [RegisteredProvider]) {
        counters.recorded.add(1, ordering: .relaxed)
        for registered in providers where registered.isEnabled { registered.provider.record(event) }
    }

    private func drop(_ event: RecordedEvent) {
        // The first one is reported, then each time that there are ten times as many.
        let dropped = counters.dropped.add(1, ordering: .relaxed).newValue
        guard isPowerOfTen(dropped) else { return }
        diagnostics.report(
            Diagnostic(
                .heldEventsFull,
                "\(dropped) events were dropped while waiting for consent, the last one \"\(event.name)\"; raise heldEvents, or ask the user sooner",
                events: dropped))
    }

    /// Counts an event that could not be recorded, and reports why.
    func fail(_ code: Diagnostic.Code, _ message: String) {
        counters.failed.add(1, ordering: .relaxed)
        diagnostics.report(Diagnostic(code, message))
    }

    var statistics: AnalyticsStatistics {
        AnalyticsStatistics(
            recorded: counters.recorded.load(ordering: .relaxed), filtered: counters.filtered.load(ordering: .relaxed),
            held: gate.heldCount, discarded: counters.discarded.load(ordering: .relaxed),
            dropped: counters.dropped.load(ordering: .relaxed), failed: counters.failed.load(ordering: .relaxed))
    }

    // MARK: Consent

    var consent: Consent { gate.consent }

    func change(to consent: Consent) {
        setRoute(isGateOpen: false)
        let discarded = gate.change(to: consent) { event in
            deliver(event, to: route.withLock { $0 }.providers)
        } isSettled: { consent in
            setRoute(isGateOpen: consent == .on)
        }
        counters.discarded.add(discarded, ordering: .relaxed)
    }

    // MARK: What can be changed at run time

    var providers: [RegisteredProvider] { route.withLock { $0.providers } }
    var middleware: [Middleware] { route.withLock { $0.middleware } }

    func setMiddleware(_ middleware: [Middleware]) {
        route.withLock { $0 = Route(providers: $0.providers, middleware: middleware, isGateOpen: $0.isGateOpen) }
    }

    func append(_ middleware: Middleware) {
        route.withLock { $0 = Route(providers: $0.providers, middleware: $0.middleware + [middleware], isGateOpen: $0.isGateOpen) }
    }

    func changeProviders<Result: Sendable>(_ change: @Sendable (inout [RegisteredProvider]) -> Result) -> Result {
        route.withLock { route in
            var providers = route.providers
            defer { route = Route(providers: providers, middleware: route.middleware, isGateOpen: route.isGateOpen) }
            return change(&providers)
        }
    }

    private func setRoute(isGateOpen: Bool) {
        route.withLock { $0 = Route(providers: $0.providers, middleware: $0.middleware, isGateOpen: isGateOpen) }
    }

    // MARK: Writers

    func takeWriter(maximumSize: Int) -> JSONWriter {
        let writer = writers.withLock { $0.popLast() } ?? JSONWriter()
        writer.maximumSize = maximumSize
        return writer
    }

    func putBack(_ writer: JSONWriter) {
        guard writer.text.bytes.capacity <= Self.writerSize else { return }
        writer.removeAll()
        writers.withLock { if $0.count < Self.writerLimit { $0.append(writer) } }
    }

    private func isPowerOfTen(_ number: Int) -> Bool {
        var number = number
        while number >= 10, number % 10 == 0 { number /= 10 }
        return number == 1
    }
}

/// What became of events so far. Each is in one of these numbers.
public struct AnalyticsStatistics: Sendable, Hashable {
    /// Handed to the providers that were there.
    public var recorded: Int
    /// Ended by middleware.
    public var filtered: Int
    /// Waiting for consent now.
    public var held: Int
    /// Discarded since nobody had agreed to them.
    public var discarded: Int
    /// Dropped since too many were waiting for consent.
    public var dropped: Int
    /// Not recorded since they were invalid, or could not be encoded.
    public var failed: Int
}
