import Events
import Foundation
import Penstock
import PenstockTesting
import Synchronization
import Testing

/// An `Analytics` whose events and diagnostics a test can inspect.
struct Rig {
    let recording = RecordingProvider()
    let diagnostics = Diagnostics()
    let analytics: Analytics

    init(
        consent: Consent = .on, automaticContext: AutomaticContext = [],
        _ change: (inout Analytics.Options) -> Void = { _ in }
    ) {
        var options = Analytics.Options()
        options.automaticContext = automaticContext
        options.diagnostics = DiagnosticsHandler { [diagnostics] diagnostic in
            diagnostics.all.withLock { $0.append(diagnostic) }
        }
        change(&options)
        analytics = Analytics(providers: [recording], consent: consent, options: options)
    }

    /// Every recorded event. Each is first checked against the daemon's own rules.
    var events: [RecordedEvent] {
        let events = recording.events
        for event in events { #expect(refusal(of: event.json) == nil, "\(event)") }
        return events
    }

    /// The only recorded event.
    func event(sourceLocation: SourceLocation = #_sourceLocation) throws -> RecordedEvent {
        try #require(events.count == 1, "\(events) \(diagnostics.messages)", sourceLocation: sourceLocation)
        return events[0]
    }

    /// The properties as they are written in the line.
    func properties(_ event: some AnalyticsEvent, sourceLocation: SourceLocation = #_sourceLocation) throws -> String {
        analytics.track(event)
        let line = try self.event(sourceLocation: sourceLocation).description
        let start = try #require(line.range(of: #""properties":"#)).upperBound
        let end = try #require(line.range(of: #","messageId":"#)).lowerBound
        return String(line[start..<end])
    }
}

final class Diagnostics: Sendable {
    let all = Mutex<[Diagnostic]>([])

    var messages: [String] { all.withLock { $0.map(\.message) } }
    var codes: [Diagnostic.Code] { all.withLock { $0.map(\.code) } }
}

/// The reason why the daemon would refuse a line. Nil: the daemon accepts it.
func refusal(of json: [UInt8]) -> String? {
    let scanner = EventScanner(maximumEventSize: 32 << 10, maximumDepth: 64)
    var accepted: [ScannedEvent] = []
    var refused: [ScannedRefusal] = []
    let line = json + [10]
    _ = scanner.scan(line.span, accepted: &accepted, refused: &refused)
    if accepted.count == 1, refused.isEmpty { return nil }
    return refused.first.map { "\($0.refusal.reason): \($0.refusal.detail)" } ?? "\(accepted.count) events in one line"
}

enum ShopEvent: AnalyticsEvent, Equatable {
    case cartViewed
    case orderCompleted(orderID: String, total: Decimal)
    case couponApplied(code: String?)
}
