/// A provider that receives the application's events as values of their own type, so that it can switch over the cases
/// without a default. The compiler then asks for a mapping of each new event.
///
/// ```swift
/// struct FunnelProvider: TypedProvider {
///     let funnel: any FunnelWrapper
///
///     func record(_ event: ShopEvent, as recorded: RecordedEvent) {
///         switch event {
///         case .cartViewed: funnel.step("cart")
///         case .orderCompleted(_, let total): funnel.conversion(value: total)
///         }
///     }
/// }
/// ```
///
/// The value is what the application recorded. Middleware that drops an event drops it here, too; middleware that
/// changes an event changes only `recorded`. An event from which `redact` has removed something arrives at
/// ``recordOther(_:)``.
public protocol TypedProvider<Event>: AnalyticsProvider {
    /// The type of the events.
    associatedtype Event: AnalyticsEvent

    /// Takes an event of the provider's type.
    ///
    /// - Parameters:
    ///   - event: The event as the application recorded it.
    ///   - recorded: The event as it is sent, with its user, time and context; `recorded.timing` for a timed event.
    func record(_ event: Event, as recorded: RecordedEvent)

    /// Takes any other event: of another type, or an identify, a page, a screen. By default it does nothing.
    func recordOther(_ event: RecordedEvent)
}

extension TypedProvider {
    /// The default: true.
    public var receivesTypes: Bool { true }

    /// The default: does nothing.
    public func recordOther(_ event: RecordedEvent) {}

    /// Calls the method for the type of the event.
    public func record(_ event: RecordedEvent) {
        if let source = event.source as? Event { record(source, as: event) } else { recordOther(event) }
    }
}
