import Penstock
import Synchronization

/// A provider that keeps all events, so that tests can check them.
///
/// ```swift
/// let recording = RecordingProvider()
/// let analytics = Analytics(providers: [recording])
/// FeedRegistry(events: analytics).postLiked(4711)
/// #expect(recording.events.map(\.name) == ["Post Liked"])
/// ```
public final class RecordingProvider: AnalyticsProvider {
    /// The name by which `Analytics` knows the provider.
    public let name: String
    private let kept = Mutex<[RecordedEvent]>([])

    /// Creates a provider.
    ///
    /// - Parameter name: The name by which `Analytics` knows the provider.
    public init(name: String = "RecordingProvider") { self.name = name }

    /// All events so far, in the order in which they arrived.
    public var events: [RecordedEvent] { kept.withLock { $0 } }

    /// The track events so far.
    public var tracks: [RecordedEvent] { events.filter { $0.kind == .track } }

    /// The events of one type so far, as the application recorded them.
    public func events<Event: AnalyticsEvent>(of type: Event.Type) -> [Event] {
        events.compactMap { $0.source as? Event }
    }

    /// Keeps the events as values, too.
    public var receivesTypes: Bool { true }

    /// Keeps the event.
    public func record(_ event: RecordedEvent) { kept.withLock { $0.append(event) } }

    /// Removes all events.
    public func removeAll() { kept.withLock { $0.removeAll() } }
}

extension Analytics {
    /// The first provider that is a `RecordingProvider`; nil if there is none.
    public var recording: RecordingProvider? { providers.lazy.compactMap { $0 as? RecordingProvider }.first }
}
