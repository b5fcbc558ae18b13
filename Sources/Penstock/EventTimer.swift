/// A timed event in progress. End it with `stop()`, or discard it with `cancel()`. Both consume the timer, so the
/// compiler rejects a second call. A timer that is released without either is reported as
/// ``Diagnostic/Code/timerForgotten``.
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

    /// Records the end of the event, with properties that became known only at the end.
    public consuming func stop(with event: Event) {
        end(as: event)
    }

    /// Discards the timer without recording an end. The recorded start stays without one.
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
                "a timer of \(Event.self) was released without stop(), so the end of the event is missing; "
                    + "call stop() or cancel() on every path"))
    }
}

extension EventSending {
    /// Records the start of a timed event. The timer's `stop()` records its end.
    public func start<Event: AnalyticsEvent>(_ event: Event) -> EventTimer<Event> { EventTimer(event, in: self) }

    /// Runs `work`, and records its start and its end as a timed event, even if it throws.
    ///
    /// - Returns: What `work` returns.
    /// - Throws: What `work` throws.
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

    /// Runs asynchronous `work` in the caller's isolation, and records its start and its end as a timed event, even if
    /// it throws.
    ///
    /// - Returns: What `work` returns.
    /// - Throws: What `work` throws.
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
