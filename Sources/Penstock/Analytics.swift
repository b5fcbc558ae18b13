#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif
#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#else
    import Darwin
#endif
import Synchronization

/// Where an application records what happens in it.
///
/// ```swift
/// let analytics = Analytics(providers: [DaemonProvider()])
/// analytics.identify("u_4711", traits: ["plan": "pro"])
/// analytics.track(ShopEvent.orderCompleted(orderID: "A1", total: 12.5))
/// await analytics.flush()
/// ```
///
/// One for the whole application; any thread. No call throws or waits: an event that cannot be recorded
/// is counted in ``statistics`` and reported to `Options.diagnostics`.
///
/// In a server, where each request has another user, ``scoped(toUser:)`` makes one for each.
public final class Analytics: EventSending {
    /// Bounds and surroundings. The defaults suit most.
    public struct Options: Sendable {
        /// What `context.app` says.
        public var application: Application?
        /// What is found out about the surroundings, once, and told with every event.
        public var automaticContext = AutomaticContext.all
        /// Bytes of an event's line; the daemon's own limit is 32 KiB unless its operator says otherwise.
        public var maximumEventSize = 32 << 10
        /// Events that wait for consent at most.
        public var heldEvents = 1000
        /// Takes what goes wrong. Standard error, if not given.
        public var diagnostics = DiagnosticsHandler.standardError
        /// The clock of `timestamp`. The machine's, if not given.
        public var now: @Sendable () -> Date = { Date() }

        public init() {}
    }

    let scope: SharedScope
    let pipeline: EventPipeline
    private let options: Options
    private let messageIDs: MessageIDGenerator

    /// - Parameters:
    ///   - providers: where events go; more can be added later.
    ///   - userID: who uses the application, if that is known and stays so.
    ///   - anonymousID: a name for whoever it is, as long as nothing better is known. A random one, if not
    ///     given; an application that runs again and again keeps it, and gives it.
    ///   - consent: what the user has agreed to.
    public init(
        providers: [any AnalyticsProvider] = [], userID: String? = nil, anonymousID: String? = nil, consent: Consent = .on,
        options: Options = Options()
    ) {
        self.options = options
        messageIDs = MessageIDGenerator()
        pipeline = EventPipeline(consent: consent, heldEvents: options.heldEvents, diagnostics: options.diagnostics)
        scope = SharedScope(
            AnalyticsScope(
                userID: Self.nonEmpty(userID),
                anonymousID: Self.nonEmpty(anonymousID) ?? messageIDs.make(at: options.now(), process: getpid()),
                automatic: options.automaticContext.members(application: options.application)))
        for provider in providers { add(provider) }
    }

    private init(sharing other: Analytics, scope: AnalyticsScope) {
        options = other.options
        messageIDs = other.messageIDs
        pipeline = other.pipeline
        self.scope = SharedScope(scope)
    }

    /// An `Analytics` for one user's events: the same providers, middleware and consent, the same super
    /// properties and context as here now; an identity and a session of its own.
    public func scoped(toUser userID: String) -> Analytics {
        var scope = scope.current
        scope.userID = Self.nonEmpty(userID) ?? scope.userID
        scope.anonymousID = makeID()
        scope.session = nil
        return Analytics(sharing: self, scope: scope)
    }

    // MARK: Recording

    /// Records an event. Most call ``EventSending/track(_:)``.
    public func send<Event: AnalyticsEvent>(_ event: Event, timing: EventTiming?) {
        record(.track, event.consentCategory, timing: timing, what: { String(describing: Event.self) }) { writer in
            try writer.write(event: event)
        }
    }

    /// Takes a diagnostic to where `Options.diagnostics` says.
    public func report(_ diagnostic: Diagnostic) { pipeline.diagnostics.report(diagnostic) }

    /// Encodes one event into its line, and hands it on.
    ///
    /// - Parameters:
    ///   - what: what the event is called in a diagnostic.
    ///   - members: writes the members that only this kind has, without a comma before them; what is last is
    ///     its properties, if it has any.
    func record(
        _ kind: RecordedEvent.Kind, _ category: ConsentCategory = .analytics, timing: EventTiming? = nil, what: () -> String,
        _ members: (JSONWriter) throws -> Void
    ) {
        guard pipeline.isWanted(category) else { return }
        let process = getpid()
        let fragments = scope.fragments(process: process)
        let writer = pipeline.takeWriter(maximumSize: options.maximumEventSize)
        defer { pipeline.putBack(writer) }
        writer.text.append("{\"type\":\"")
        writer.text.append(kind.text)
        writer.text.append("\",")
        do {
            try members(writer)
        } catch {
            let code: Diagnostic.Code =
                switch error as? JSONWriterError {
                case .tooLarge: .tooLarge
                case .nameless, .twoNames, .noProperties: .invalid
                default: .notEncodable
                }
            return pipeline.fail(code, "\(what()) was not recorded: \(Self.reason(error))")
        }
        if let start = writer.propertiesStart { fragments.appendProperties(to: &writer.text, objectAt: start) }
        let now = options.now()
        writer.text.append(",\"messageId\":\"")
        messageIDs.append(at: now, process: process, to: &writer.text)
        writer.text.append("\",\"timestamp\":")
        _ = now.write(to: &writer.text, depth: 0)
        writer.text.bytes.append(contentsOf: fragments.identity)
        if fragments.hasContext || timing != nil {
            writer.text.bytes.append(contentsOf: fragments.context)
            if let timing {
                writer.text.append(fragments.hasContext ? ",\"timing\":" : "\"timing\":")
                timing.append(to: &writer.text)
            }
            writer.text.append(byte: "}")
        }
        writer.text.append(byte: "}")
        guard writer.text.bytes.count <= options.maximumEventSize else {
            return pipeline.fail(
                .tooLarge,
                "\(what()) was not recorded: it has \(writer.text.bytes.count) bytes, maximumEventSize allows \(options.maximumEventSize)")
        }
        if writer.replaced > 0 {
            report(Diagnostic(.valueReplaced, "\(what()): \(writer.replaced) of its values have no form in JSON, such as NaN, and became null"))
        }
        pipeline.record(RecordedEvent(kind: kind, consentCategory: category, json: Array(writer.text.bytes[...])))
    }

    private static func reason(_ error: any Error) -> String {
        guard case EncodingError.invalidValue(_, let context) = error else { return "\(error)" }
        return context.debugDescription
    }

    /// An id for a session, or for somebody unknown.
    func makeID() -> String { messageIDs.make(at: options.now(), process: getpid()) }

    static func nonEmpty(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
}

extension RecordedEvent.Kind {
    /// The spelling of `type`.
    fileprivate var text: StaticString {
        switch self {
        case .track: "track"
        case .identify: "identify"
        case .page: "page"
        case .screen: "screen"
        case .group: "group"
        case .alias: "alias"
        }
    }
}
