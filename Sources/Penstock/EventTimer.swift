/// A timed event that has begun. It ends with `stop()`, or is taken back with `cancel()`; it cannot be
/// ended twice, since both use it up, and one that is let go without either is reported.
///
/// ```swift
/// let timer = analytics.start(OnboardingEvent.shown)
/// …
/// timer.stop()
/// ```
public struct EventTimer<Event: AnalyticsEvent>: ~Copyable, Sendable {
    private let events: any EventSending
    private let event: Event
    private let id: String
    private let begin: ContinuousClock.Instant
    private var isEnded = false

    init(_ event: Event, in events: any EventSending) {
        self.events = events
        self.event = event
        id = EventTiming.newID()
        events.send(event, timing: EventTiming(id: id, phase: .start))
        begin = ContinuousClock.now
    }

    /// Records the end of the event.
    public consuming func stop() {
        end(as: event)
    }

    /// Records the end of the event, with properties that are only known now.
    public consuming func stop(with event: Event) {
        end(as: event)
    }

    /// Ends it without recording anything more: its begin stays without an end.
    public consuming func cancel() {
        isEnded = true
    }

    private consuming func end(as event: Event) {
        isEnded = true
        events.send(event, timing: EventTiming(id: id, phase: .stop(duration: begin.duration(to: .now))))
    }

    deinit {
        guard !isEnded else { return }
        events.report(
            Diagnostic(
                .timerForgotten,
                "a timer of \(Event.self) was let go without stop(): its end is not recorded; call stop() or cancel() on every way out"))
    }
}

extension EventSending {
    /// Records the begin of a timed event. Its end is recorded by the timer's `stop()`.
    public func start<Event: AnalyticsEvent>(_ event: Event) -> EventTimer<Event> { EventTimer(event, in: self) }

    /// Runs `work`, and records its begin and its end as a timed event; its end also if it throws.
    public func measure<Event: AnalyticsEvent, Result: ~Copyable, Failure: Error>(
        _ event: Event, _ work: () throws(Failure) -> Result
    ) throws(Failure) -> Result {
        let timer = start(event)
        do {
            let result = try work()
            timer.stop()
            return result
        } catch {
            timer.stop()
            throw error
        }
    }

    /// Runs `work`, and records its begin and its end as a timed event; its end also if it throws. It runs
    /// where the caller runs.
    public func measure<Event: AnalyticsEvent, Result, Failure: Error>(
        _ event: Event, isolation: isolated (any Actor)? = #isolation, _ work: () async throws(Failure) -> Result
    ) async throws(Failure) -> Result {
        let timer = start(event)
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
