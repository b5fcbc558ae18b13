import Penstock
import Synchronization

/// A provider that keeps events, for tests to look at.
///
/// ```swift
/// let recording = RecordingProvider()
/// let analytics = Analytics(providers: [recording])
/// FeedRegistry(events: analytics).postLiked(4711)
/// #expect(recording.events.map(\.name) == ["Post Liked"])
/// ```
public final class RecordingProvider: AnalyticsProvider {
    public let name: String
    private let kept = Mutex<[RecordedEvent]>([])

    /// - Parameter name: what it is called among an `Analytics`' providers.
    public init(name: String = "RecordingProvider") { self.name = name }

    /// All events so far, in the order in which they came.
    public var events: [RecordedEvent] { kept.withLock { $0 } }

    /// The tracks among them.
    public var tracks: [RecordedEvent] { events.filter { $0.kind == .track } }

    public func record(_ event: RecordedEvent) { kept.withLock { $0.append(event) } }

    /// Forgets all events so far.
    public func removeAll() { kept.withLock { $0.removeAll() } }
}

extension Analytics {
    /// The first provider that keeps events; nil if there is none.
    public var recording: RecordingProvider? { providers.lazy.compactMap { $0 as? RecordingProvider }.first }
}
