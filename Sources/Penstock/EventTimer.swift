#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
import Synchronization

/// A timed event in progress. End it with `stop()`, or discard it with `cancel()`. Both consume the timer, so the
/// compiler rejects a second call. A timer that is released without either is reported as
/// ``Diagnostic/Code/timerForgotten``.
///
/// ```swift
/// let timer = analytics.start(OnboardingEvent.shown)
/// …
/// timer.stop()
/// ```
///
/// The compiler can follow a timer through the statements of one function. For a timer in a `defer`, in a task, in a
/// closure or in a property of a class, use ``EventSending/timer(_:at:messageID:fileID:line:)``.
public struct EventTimer<Event: AnalyticsEvent>: ~Copyable, Sendable {
    private let run: TimerRun<Event>
    private var isEnded = false

    init(_ run: TimerRun<Event>) { self.run = run }

    /// Records the end of the event.
    ///
    /// - Parameters:
    ///   - date: The time of the end; nil for now. If the start or the end has a time of its own, the recorded duration
    ///     is the time between the two.
    ///   - messageID: The id of the end; nil for a new one.
    public consuming func stop(at date: Date? = nil, messageID: String? = nil) {
        isEnded = true
        run.stop(as: nil, at: date, messageID: messageID)
    }

    /// Records the end of the event, with properties that became known only at the end.
    public consuming func stop(with event: Event, at date: Date? = nil, messageID: String? = nil) {
        isEnded = true
        run.stop(as: event, at: date, messageID: messageID)
    }

    /// Discards the timer without recording an end. The recorded start stays without one.
    public consuming func cancel() {
        isEnded = true
    }

    deinit {
        if !isEnded { run.reportForgotten() }
    }
}

/// A timed event in progress that can be kept and shared: in a `defer`, in a task, in an escaping closure, in a
/// property. All copies are the same timer.
///
/// ```swift
/// final class Player {
///     private var timer: SharedEventTimer<PlayerEvent>?
///     func play() { timer = analytics.timer(PlayerEvent.played) }
///     func pause() { timer?.stop() }
/// }
/// ```
///
/// The first call of `stop()` or `cancel()` ends it; later calls do nothing. A timer whose last copy is released
/// without either is reported as ``Diagnostic/Code/timerForgotten``.
public final class SharedEventTimer<Event: AnalyticsEvent>: Sendable {
    private let run: TimerRun<Event>
    private let ended = Atomic(false)

    init(_ run: TimerRun<Event>) { self.run = run }

    /// Whether the timer has been stopped or cancelled.
    public var isEnded: Bool { ended.load(ordering: .relaxed) }

    /// Records the end of the event, if the timer has not ended yet.
    ///
    /// - Parameters:
    ///   - date: The time of the end; nil for now. If the start or the end has a time of its own, the recorded duration
    ///     is the time between the two.
    ///   - messageID: The id of the end; nil for a new one.
    public func stop(at date: Date? = nil, messageID: String? = nil) {
        if end() { run.stop(as: nil, at: date, messageID: messageID) }
    }

    /// Records the end of the event, with properties that became known only at the end, if the timer has not ended yet.
    public func stop(with event: Event, at date: Date? = nil, messageID: String? = nil) {
        if end() { run.stop(as: event, at: date, messageID: messageID) }
    }

    /// Discards the timer without recording an end, if it has not ended yet.
    public func cancel() { _ = end() }

    private func end() -> Bool { !ended.exchange(true, ordering: .relaxed) }

    deinit {
        if !isEnded { run.reportForgotten() }
    }
}

/// The start of a timed event, and what its end needs.
struct TimerRun<Event: AnalyticsEvent>: Sendable {
    private let events: any EventSending
    private let event: Event
    private let id: String
    private let begin: ContinuousClock.Instant
    private let beganAt: Date
    /// The details of the start.
    private let details: EventDetails

    /// Records the start.
    init(_ event: Event, in events: any EventSending, _ details: EventDetails) {
        self.events = events
        self.event = event
        id = EventTiming.newID()
        var details = details
        details.timing = EventTiming(id: id, phase: .start)
        self.details = details
        events.send(event, details)
        begin = ContinuousClock.now
        beganAt = Date()
    }

    /// Records the end.
    func stop(as event: Event?, at date: Date?, messageID: String?) {
        var end = details
        end.timing = EventTiming(id: id, phase: .stop(duration: duration(until: date)))
        end.date = date
        end.messageID = messageID
        events.send(event ?? self.event, end)
    }

    private func duration(until end: Date?) -> Duration {
        if end == nil, details.date == nil { return begin.duration(to: .now) }
        return EventTiming.duration(ofSeconds: (end ?? Date()).timeIntervalSince(details.date ?? beganAt))
    }

    func reportForgotten() {
        events.report(
            Diagnostic(
                .timerForgotten, event: event.nameForDiagnostics, at: details,
                "has no end: its timer was released without stop(); call stop() or cancel() on every path"))
    }
}

extension EventSending {
    /// Records the start of a timed event. The timer's `stop()` records its end.
    ///
    /// - Parameters:
    ///   - event: The event.
    ///   - date: The time of the start; nil for now.
    ///   - messageID: The id of the start; nil for a new one.
    ///   - fileID: The file of the call, for diagnostics.
    ///   - line: The line of the call.
    public func start<Event: AnalyticsEvent>(
        _ event: Event, at date: Date? = nil, messageID: String? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> EventTimer<Event> {
        EventTimer(
            TimerRun(event, in: self, EventDetails(at: date, messageID: messageID, fileID: fileID, line: line)))
    }

    /// Records the start of a timed event, and returns a timer that can be kept and shared.
    public func timer<Event: AnalyticsEvent>(
        _ event: Event, at date: Date? = nil, messageID: String? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) -> SharedEventTimer<Event> {
        SharedEventTimer(
            TimerRun(event, in: self, EventDetails(at: date, messageID: messageID, fileID: fileID, line: line)))
    }

    /// Runs `work`, and records its start and its end as a timed event, even if it throws.
    ///
    /// - Returns: What `work` returns.
    /// - Throws: What `work` throws.
    public func measure<Event: AnalyticsEvent, Result: ~Copyable, Failure: Error>(
        _ event: Event, fileID: StaticString = #fileID, line: UInt = #line, _ work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let timer = start(event, fileID: fileID, line: line)
        do {
            let result = try work()
            timer.stop()
            return result
        } catch {
            timer.stop()
            throw error
        }
    }

    /// Runs asynchronous `work` in the caller's isolation, and records its start and its end as a timed event, even if
    /// it throws.
    ///
    /// - Returns: What `work` returns.
    /// - Throws: What `work` throws.
    public func measure<Event: AnalyticsEvent, Result, Failure: Error>(
        _ event: Event, fileID: StaticString = #fileID, line: UInt = #line,
        isolation: isolated (any Actor)? = #isolation, _ work: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let timer = start(event, fileID: fileID, line: line)
        do {
            let result = try await work()
            timer.stop()
            return result
        } catch {
            timer.stop()
            throw error
        }
    }
}
