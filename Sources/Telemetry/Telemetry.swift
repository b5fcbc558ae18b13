// Telemetry: counters, histograms, the log, and the text in which collectors read metrics. It depends on no other room,
// so every room can use it.
//
// - A named event is both a counter and a log line. No code counts and logs separately, and no other code limits the
//   number of lines.
// - Every event is counted. Of one type about one subject, at most `LineLimit.lines` lines are logged per interval; a
//   line after the interval says how many were left out. The first line is always logged.
// - Emitting never throws and blocks no longer than a write to the sink. Recording a duration never blocks and
//   allocates nothing.

import Synchronization

/// The daemon's recorder of named events. Any thread.
package final class Telemetry: Sendable {
    private struct Kind: Hashable {
        var name: String
        var subject: String
    }

    private struct State {
        var counts: [String: UInt64] = [:]
        var windows: [Kind: LineWindow] = [:]
    }

    /// The most subjects that have a window of their own. Names of destinations and sources are subjects, so a
    /// configuration rarely has more; further ones share a window.
    package static let subjectLimit = 10_000

    private let sink: any LogSink
    private let minimum: Level
    private let now: @Sendable () -> Int64
    private let state = Mutex(State())

    /// - Parameter now: returns monotonic nanoseconds. Injected so that tests control time.
    package init(sink: any LogSink, minimum: Level = .info, now: @escaping @Sendable () -> Int64) {
        self.sink = sink
        self.minimum = minimum
        self.now = now
    }

    /// Counts the event, and logs it if its level is at least the minimum.
    package func emit<Event: NamedEvent>(_ event: Event) {
        emit(Event.self, event.level, about: event.subject, affected: event.affectedEvents) { event }
    }

    /// As `emit(_:)`, for events that may be very frequent.
    /// - Parameters:
    ///   - subject: the event's.
    ///   - make: builds the event. Called only if its line is logged.
    package func emit<Event: NamedEvent>(
        _: Event.Type, _ level: Level, about subject: @autoclosure () -> String, affected: UInt64? = nil,
        _ make: () -> Event
    ) {
        let isLogged = level >= minimum
        let time = isLogged ? now() : 0
        var kind = Kind(name: Event.name, subject: isLogged ? subject() : "")
        var summary: LogEntry?
        let admission: LineWindow.Admission = state.withLock { state in
            state.counts[Event.name, default: 0] &+= 1
            guard isLogged else { return .leftOut }
            kind = Self.windowed(kind, state: &state, at: time)
            var window = state.windows[kind] ?? LineWindow(Event.lineLimit, at: time)
            if window.isOver(at: time) { summary = window.takeSummary() }
            let admission = window.admit(level, affected: affected, at: time)
            state.windows[kind] = window
            return admission
        }
        if let summary { sink.write(summary) }
        if case .leftOut = admission { return }
        let entry = LogEntry(make())
        if case .last = admission { state.withLock { $0.windows[kind]?.keep(entry) } }
        sink.write(entry)
    }

    /// Logs how many lines were left out in intervals that are over. Call regularly: otherwise these lines wait for the
    /// next event of their kind.
    package func flush() { flush(all: false) }

    /// As `flush`, also for the current intervals. At the end of the program.
    package func finish() { flush(all: true) }

    private func flush(all: Bool) {
        let time = now()
        let summaries: [LogEntry] = state.withLock { state in
            var summaries: [LogEntry] = []
            for kind in state.windows.keys where all || state.windows[kind]?.isOver(at: time) == true {
                if let summary = state.windows[kind]?.takeSummary() { summaries.append(summary) }
                if !all { state.windows[kind] = nil }
            }
            return summaries
        }
        for summary in summaries { sink.write(summary) }
    }

    /// How often each named event was emitted since the start.
    package func counts() -> [String: UInt64] { state.withLock { $0.counts } }

    /// The kind whose window counts: without a subject if there are too many.
    private static func windowed(_ kind: Kind, state: inout State, at time: Int64) -> Kind {
        guard state.windows.count >= subjectLimit, state.windows[kind] == nil else { return kind }
        state.windows = state.windows.filter { !$0.value.isOver(at: time) || !$0.value.isSettled }
        return state.windows.count < subjectLimit ? kind : Kind(name: kind.name, subject: "")
    }
}
