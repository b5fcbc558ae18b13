import Synchronization

/// The path of an encoded event: middleware, consent, providers. An ``Analytics`` shares one pipeline with all
/// instances that are scoped from it.
///
/// No lock is held while middleware and providers run.
final class EventPipeline: Sendable {
    struct RegisteredProvider: Sendable {
        var name: String
        let provider: any AnalyticsProvider
        var middleware: [Analytics.Middleware] = []
        var isEnabled = true
    }

    /// The data that a thread needs to deliver an event. It is immutable, and replaced as a whole.
    final class Route: Sendable {
        let providers: [RegisteredProvider]
        let middleware: [Analytics.Middleware]
        /// Whether no event is held or discarded, so that the gate can be skipped.
        let isGateOpen: Bool
        /// Whether a provider reads the events as values of their own types.
        let receivesTypes: Bool

        init(providers: [RegisteredProvider], middleware: [Analytics.Middleware], isGateOpen: Bool) {
            self.providers = providers
            self.middleware = middleware
            self.isGateOpen = isGateOpen
            receivesTypes = providers.contains { $0.isEnabled && $0.provider.receivesTypes }
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
    private let gate: ConsentGate
    private let counters = Counters()
    private let recorders: RecorderPool

    init(consent: Consent, heldEvents: Int, diagnostics: DiagnosticsHandler) {
        self.diagnostics = diagnostics
        gate = ConsentGate(consent, capacity: heldEvents)
        recorders = RecorderPool(Route(providers: [], middleware: [], isGateOpen: consent == .on))
    }

    // MARK: Events

    /// Takes the current route, and a recorder for one event.
    func take() -> (route: Route, recorder: Recorder) { recorders.take() }

    func putBack(_ recorder: Recorder) { recorders.putBack(recorder) }

    private var route: Route { recorders.route }

    /// Returns whether an event of this category may be recorded or held. If not, counts it as discarded.
    func isWanted(_ category: ConsentCategory, _ route: Route) -> Bool {
        if route.isGateOpen { return true }
        let consent = gate.consent
        if consent.isGranted(category) || consent.withheld == .hold { return true }
        counters.discarded.add(1, ordering: .relaxed)
        return false
    }

    /// Passes an event through middleware and consent to the providers, in the calling thread.
    func record(_ event: consuming RecordedEvent, _ route: Route, _ details: EventDetails) {
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
                drop(event, details)
                return
            }
        }
        deliver(event, to: route.providers)
    }

    private func deliver(_ event: RecordedEvent, to providers: [RegisteredProvider]) {
        counters.recorded.add(1, ordering: .relaxed)
        // By index: a copy of a registered provider costs several reference counts.
        for index in providers.indices where providers[index].isEnabled {
            guard !providers[index].middleware.isEmpty else {
                providers[index].provider.record(event)
                continue
            }
            var own = event
            if providers[index].middleware.allSatisfy({ $0.process(&own) }) { providers[index].provider.record(own) }
        }
    }

    private func drop(_ event: RecordedEvent, _ details: EventDetails) {
        // Report the first dropped event, and then each power of ten.
        let dropped = counters.dropped.add(1, ordering: .relaxed).newValue
        guard isPowerOfTen(dropped) else { return }
        var diagnostic = Diagnostic(
            .heldEventsFull, event: event.name.isEmpty ? event.kind.rawValue : event.name, at: details,
            "was dropped, as were \(dropped - 1) before it: too many events wait for consent; raise heldEvents, or ask "
                + "the user sooner")
        diagnostic.events = dropped
        diagnostics.report(diagnostic)
    }

    /// Counts an event that could not be recorded, and reports why.
    func fail(_ code: Diagnostic.Code, event: String, _ details: EventDetails, _ problem: String) {
        counters.failed.add(1, ordering: .relaxed)
        diagnostics.report(Diagnostic(code, event: event, at: details, problem))
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
    var middleware: [Analytics.Middleware] { route.middleware }

    func setMiddleware(_ middleware: [Analytics.Middleware]) {
        recorders.changeRoute { $0 = Route(providers: $0.providers, middleware: middleware, isGateOpen: $0.isGateOpen) }
    }

    func append(_ middleware: Analytics.Middleware) {
        recorders.changeRoute {
            $0 = Route(providers: $0.providers, middleware: $0.middleware + [middleware], isGateOpen: $0.isGateOpen)
        }
    }

    func changeProviders<Result: Sendable>(_ change: (inout [RegisteredProvider]) -> Result) -> Result {
        recorders.changeRoute { route in
            var providers = route.providers
            defer { route = Route(providers: providers, middleware: route.middleware, isGateOpen: route.isGateOpen) }
            return change(&providers)
        }
    }

    private func setRoute(isGateOpen: Bool) {
        recorders.changeRoute { $0 = Route(providers: $0.providers, middleware: $0.middleware, isGateOpen: isGateOpen) }
    }

    private func isPowerOfTen(_ number: Int) -> Bool {
        var number = number
        while number >= 10, number % 10 == 0 { number /= 10 }
        return number == 1
    }
}
