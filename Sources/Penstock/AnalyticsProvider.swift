/// A destination to which `Analytics` passes events: the daemon, an HTTP service, a log, a vendor's SDK.
///
/// ``Analytics`` calls a provider in the thread that recorded the event, and holds no lock meanwhile. A provider must
/// therefore return quickly, support calls from many threads at once, and do its waiting in another thread.
///
/// A provider that sends lines only needs ``record(_:)``. To wrap a vendor's SDK, conform to ``VendorProvider``.
public protocol AnalyticsProvider: Sendable {
    /// The name by which the application disables or removes the provider. By default it is the type's name. Another
    /// name can be given to ``Analytics/add(_:named:middleware:)``.
    var name: String { get }

    /// Takes one event. It must not block. A provider counts and reports events that it cannot take.
    func record(_ event: RecordedEvent)

    /// Whether the provider reads ``RecordedEvent/source``. By default it does not, and events are not kept as values.
    var receivesTypes: Bool { get }

    /// Discards the events that the provider still has, in memory and on disk. By default it does nothing.
    ///
    /// ``Analytics/withdrawConsent(purging:)`` calls it.
    func purge()

    /// Sets the handler to which the provider reports problems. It is called before the first event. By default it does
    /// nothing.
    func attach(to diagnostics: DiagnosticsHandler)

    /// Waits until no event recorded before this call can be lost when the process ends, or until the deadline. By
    /// default it returns `.complete` at once.
    ///
    /// - Parameter deadline: The time at which the call returns at the latest.
    /// - Returns: Whether the flush is complete, or how many events are still in memory.
    func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome
}

extension AnalyticsProvider {
    /// The default: the type's name.
    public var name: String { String(describing: type(of: self)) }
    /// The default: false.
    public var receivesTypes: Bool { false }
    /// The default: does nothing.
    public func purge() {}
    /// The default: does nothing.
    public func attach(to diagnostics: DiagnosticsHandler) {}
    /// The default: returns `.complete` at once.
    public func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome { .complete }
}

/// The result of a flush.
public enum FlushOutcome: Sendable, Hashable {
    /// No event recorded before the flush can be lost when this process ends.
    case complete
    /// The deadline passed while this number of events was still in memory.
    case pending(events: Int)
}
