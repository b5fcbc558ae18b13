/// A way by which events leave the application: to the daemon, over HTTP, into a log, to a vendor's SDK.
///
/// ``Analytics`` calls it in the thread that recorded the event, with no lock held: so it has to be
/// quick, to be safe in many threads at once, and to do its waiting elsewhere.
///
/// A provider that sends lines needs ``record(_:)`` alone. To wrap a vendor's SDK, conform to
/// ``VendorProvider``.
public protocol AnalyticsProvider: Sendable {
    /// What it is called when it is disabled or removed. The type's name, if not given.
    var name: String { get }

    /// Takes one event. Never blocks, never throws: what it cannot take it counts, and reports.
    func record(_ event: RecordedEvent)

    /// Is told where to report to, before the first event. If not given, nothing is done about it.
    func attach(to diagnostics: DiagnosticsHandler)

    /// Returns when every event recorded before is where it cannot be lost, or at the deadline. If not
    /// given, there is nothing to wait for.
    func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome
}

extension AnalyticsProvider {
    public var name: String { String(describing: type(of: self)) }
    public func attach(to diagnostics: DiagnosticsHandler) {}
    public func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome { .complete }
}

/// What became of a flush.
public enum FlushOutcome: Sendable, Hashable {
    /// Nothing that was recorded before can be lost any more by this process' end.
    case complete
    /// The deadline came first: so many events are still in memory.
    case pending(events: Int)
}
