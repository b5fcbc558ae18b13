import Synchronization

/// The path of an encoded event: middleware, consent, providers. An ``Analytics`` shares one pipeline with all
/// instances that are scoped from it.
///
/// No lock is held while middleware and providers run.
final class EventPipeline: Sendable {
    struct RegisteredProvider: Sendable {
        let name: String
        let provider: any AnalyticsProvider
        var isEnabled = true
    }

    /// The data that a thread needs to deliver an event. It is immutable, and replaced as a whole.
    final class Route: Sendable {
        let providers: [RegisteredProvider]
        let middleware: [Middleware]
        /// Whether no event is held or discarded, so that the gate can be skipped.
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
    private let shared: ReadMostly<Route>
    private let gate: ConsentGate
    private let counters = Counters()
    private let writers = WriterPool()

    init(consent: Consent, heldEvents: Int, diagnostics: DiagnosticsHandler) {
        self.diagnostics = diagnostics
        gate = ConsentGate(consent, capacity: heldEvents)
        shared = ReadMostly(Route(providers: [], middleware: [], isGateOpen: consent == .on))
    }

    // MARK: Events

    /// The current route.
    var route: Route { shared.value }

    /// Returns whether an event of this category may be recorded or held. If not, counts it as discarded.
    func isWanted(_ category: ConsentCategory, _ route: Route) -> Bool {
        if route.isGateOpen { return true }
        let consent = gate.consent
        if consent.isGranted(category) || consent.withheld == .hold { return true }
        counters.discarded.add(1, ordering: .relaxed)
        return false
    }

    /// Passes an event through middleware and consent to the providers, in the calling thread.
    func record(_ event: consuming RecordedEvent, _ route: Route) {
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
        // Report the first dropped event, and then each power of ten.
        let dropped = counters.dropped.add(1, ordering: .relaxed).newValue
        guard isPowerOfTen(dropped) else { return }
        diagnostics.report(
            Diagnostic(
                .heldEventsFull,
                "\(dropped) \(dropped == 1 ? "event was" : "events were") dropped: too many events wait for consent; "
                    + "the last one is \"\(event.name)\"; raise heldEvents, or ask the user sooner",
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
            deliver(event, to: route.providers)
        } isSettled: { consent in
            setRoute(isGateOpen: consent == .on)
        }
        counters.discarded.add(discarded, ordering: .relaxed)
    }

    // MARK: Changes at run time

    var providers: [RegisteredProvider] { route.providers }
    var middleware: [Middleware] { route.middleware }

    func setMiddleware(_ middleware: [Middleware]) {
        shared.change { $0 = Route(providers: $0.providers, middleware: middleware, isGateOpen: $0.isGateOpen) }
    }

    func append(_ middleware: Middleware) {
        shared.change {
            $0 = Route(providers: $0.providers, middleware: $0.middleware + [middleware], isGateOpen: $0.isGateOpen)
        }
    }

    func changeProviders<Result: Sendable>(_ change: (inout [RegisteredProvider]) -> Result) -> Result {
        shared.change { route in
            var providers = route.providers
            defer { route = Route(providers: providers, middleware: route.middleware, isGateOpen: route.isGateOpen) }
            return change(&providers)
        }
    }

    private func setRoute(isGateOpen: Bool) {
        shared.change { $0 = Route(providers: $0.providers, middleware: $0.middleware, isGateOpen: isGateOpen) }
    }

    // MARK: Writers

    func takeWriter(maximumSize: Int) -> JSONWriter {
        let writer = writers.take()
        writer.builder.maximumSize = maximumSize
        return writer
    }

    func putBack(_ writer: JSONWriter) { writers.putBack(writer) }

    private func isPowerOfTen(_ number: Int) -> Bool {
        var number = number
        while number >= 10, number % 10 == 0 { number /= 10 }
        return number == 1
    }
}
