#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Records the events of one type, so that a call needs only the name of the case:
///
/// ```swift
/// final class CartModel {
///     private let analytics: AnalyticsChannel<ShopEvent>
///     init(analytics: AnalyticsChannel<ShopEvent>) { self.analytics = analytics }
///     func show() { analytics.track(.cartViewed) }
/// }
///
/// let model = CartModel(analytics: analytics.of(ShopEvent.self))
/// ```
///
/// A channel is a small value: make one for each screen.
public struct AnalyticsChannel<Event: AnalyticsEvent>: Sendable {
    /// The recorder that the channel passes its events to. It records everything else, such as `screen`.
    public let events: any EventSending

    /// Creates a channel to a recorder. See also ``EventSending/of(_:)``.
    public init(_ events: any EventSending) { self.events = events }

    /// Records an event.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - date: The time at which it happened; nil for now.
    ///   - messageID: The event's id; nil for a new one.
    ///   - fileID: The file of the call, for diagnostics.
    ///   - line: The line of the call.
    public func track(
        _ event: Event, at date: Date? = nil, messageID: String? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        events.track(event, at: date, messageID: messageID, fileID: fileID, line: line)
    }

    /// Records the start of a timed event. The timer's `stop()` records its end.
    public func start(
        _ event: Event, at date: Date? = nil, messageID: String? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> EventTimer<Event> {
        events.start(event, at: date, messageID: messageID, fileID: fileID, line: line)
    }

    /// Records the start of a timed event, and returns a timer that can be kept and shared.
    public func timer(
        _ event: Event, at date: Date? = nil, messageID: String? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> SharedEventTimer<Event> {
        events.timer(event, at: date, messageID: messageID, fileID: fileID, line: line)
    }

    /// Runs `work`, and records its start and its end as a timed event, even if it throws.
    public func measure<Result: ~Copyable, Failure: Error>(
        _ event: Event, fileID: StaticString = #fileID, line: UInt = #line, _ work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        try events.measure(event, fileID: fileID, line: line, work)
    }

    /// Runs asynchronous `work` in the caller's isolation, and records its start and its end as a timed event, even if
    /// it throws.
    public func measure<Result, Failure: Error>(
        _ event: Event, fileID: StaticString = #fileID, line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation, _ work: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        try await events.measure(event, fileID: fileID, line: line, isolation: isolation, work)
    }
}

extension EventSending {
    /// Returns a channel for events of one type: `analytics.of(ShopEvent.self).track(.cartViewed)`.
    public func of<Event: AnalyticsEvent>(_ type: Event.Type) -> AnalyticsChannel<Event> { AnalyticsChannel(self) }
}
