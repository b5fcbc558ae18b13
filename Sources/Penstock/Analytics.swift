import Synchronization

#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Records the events of an application.
///
/// ```swift
/// let analytics = Analytics(providers: [DaemonProvider()])
/// analytics.identify("u_4711", traits: ["plan": "pro"])
/// analytics.track(ShopEvent.orderCompleted(orderID: "A1", total: 12.5))
/// ```
///
/// Create one instance for the whole application; all methods may be called from any thread. No call throws or blocks,
/// except `flush`, which waits. An event that cannot be recorded is counted in ``statistics`` and reported to
/// `Options.diagnostics`.
///
/// In a server, where each request belongs to a different user, create an instance for each user with
/// ``scoped(toUser:anonymousID:)``.
public final class Analytics: EventSending {
    /// Limits, context and diagnostics. The defaults suit most applications.
    public struct Options: Sendable {
        /// The application's name and version, recorded as `context.app`.
        public var application: Application?
        /// The path of the file that keeps the anonymous id from run to run; nil to make a new one in each run.
        ///
        /// The file and its directory are created. `Analytics` reads it when it is created, and writes it when the id
        /// changes: at `reset()` and when another user signs in. For an application of one user, not for a server.
        public var anonymousIDFile: String?
        /// The parts of the context that the SDK looks up itself, once, and adds to every event.
        public var automaticContext = AutomaticContext.all
        /// The maximum size of an encoded event in bytes. The daemon's own limit is 32 KiB unless its operator changed
        /// it.
        public var maximumEventSize = 32 << 10
        /// The maximum number of events held in memory until the user decides about consent.
        public var heldEvents = 1000
        /// The handler for problems while recording or delivering. By default they are written to standard error.
        public var diagnostics = DiagnosticsHandler.standardError
        /// The clock for `timestamp`. By default it is the system clock.
        public var now: @Sendable () -> Date = { Date() }
        /// Returns the id of the current trace, recorded as `context.trace.id`; nil to record none. It is called in the
        /// thread and the task that record.
        ///
        /// With swift-distributed-tracing: `options.traceID = { ServiceContext.current?.traceID }`, where `traceID` is
        /// the key of your tracer.
        public var traceID: (@Sendable () -> String?)?

        /// Creates options with the default values.
        public init() {}
    }

    let scope: SharedScope
    let pipeline: EventPipeline
    private let options: Options
    private let messageIDs: MessageIDGenerator
    /// Whether this is one of several users' instances.
    private let isScoped: Bool

    /// Creates an `Analytics` that sends events to the given providers.
    ///
    /// - Parameters:
    ///   - providers: The providers that receive events. You can add more later.
    ///   - userID: The user's id, if it is known and does not change.
    ///   - anonymousID: The id to use until a user is identified. By default it is the one that
    ///     `Options.anonymousIDFile` keeps, or else random.
    ///   - consent: The user's consent.
    ///   - options: Limits, context and diagnostics.
    public init(
        providers: [any AnalyticsProvider] = [], userID: String? = nil, anonymousID: String? = nil,
        consent: Consent = .on,
        options: Options = Options()
    ) {
        self.options = options
        isScoped = false
        messageIDs = MessageIDGenerator()
        pipeline = EventPipeline(consent: consent, heldEvents: options.heldEvents, diagnostics: options.diagnostics)
        let kept = options.anonymousIDFile.flatMap { AnonymousIDFile(path: $0).read() }
        let anonymousID =
            Self.nonEmpty(anonymousID) ?? kept ?? messageIDs.make(at: options.now(), process: CurrentProcess.id)
        scope = SharedScope(
            AnalyticsScope(
                userID: Self.nonEmpty(userID), anonymousID: anonymousID,
                automatic: options.automaticContext.members(application: options.application)))
        for provider in providers { add(provider) }
        if anonymousID != kept { keep(anonymousID: anonymousID) }
    }

    /// Writes the anonymous id to the file that keeps it, if there is one.
    func keep(anonymousID: String) {
        guard let path = options.anonymousIDFile, !isScoped else { return }
        do {
            try AnonymousIDFile(path: path).write(anonymousID)
        } catch {
            report(
                Diagnostic(
                    .anonymousIDNotKept,
                    "cannot write the anonymous id to \(path), so the next run has another one: \(error); "
                        + "choose another anonymousIDFile",
                    events: 0))
        }
    }

    private init(sharing other: Analytics, scope: AnalyticsScope) {
        options = other.options
        isScoped = true
        messageIDs = other.messageIDs
        pipeline = other.pipeline
        self.scope = SharedScope(scope)
    }

    /// Returns an `Analytics` for the events of one user, for a server whose requests belong to different users. It
    /// shares the providers, the middleware and the consent of this instance, and starts with a copy of its current
    /// super properties and context. It has its own identity and session.
    ///
    /// It has only the ids that you pass, and invents none. At least one is needed.
    ///
    /// - Parameters:
    ///   - userID: The user's id; nil while the user is unknown.
    ///   - anonymousID: The id of the visitor, from a cookie for example.
    public func scoped(toUser userID: String?, anonymousID: String? = nil) -> Analytics {
        var scope = scope.current
        scope.userID = Self.nonEmpty(userID)
        scope.anonymousID = Self.nonEmpty(anonymousID)
        scope.session = nil
        return Analytics(sharing: self, scope: scope)
    }

    // MARK: Recording

    /// Records an event. Most applications call `track` instead.
    public func send<Event: AnalyticsEvent>(_ event: Event, _ details: EventDetails) {
        record(
            .track, event.consentCategory, details, name: { event.nameForDiagnostics }, source: { event },
            { writer in try writer.write(event: event) })
    }

    /// Passes a diagnostic to `Options.diagnostics`.
    public func report(_ diagnostic: Diagnostic) { pipeline.diagnostics.report(diagnostic) }

    /// Encodes one event into its line and passes it to the pipeline.
    ///
    /// - Parameters:
    ///   - name: Returns the name of the event for diagnostics.
    ///   - source: Returns the event, for providers that receive types.
    ///   - members: Writes the members that only this kind of event has, without a leading comma. Properties, if there
    ///     are any, must come last.
    func record(
        _ kind: RecordedEvent.Kind, _ category: ConsentCategory, _ details: EventDetails,
        name: () -> String, source: () -> (any AnalyticsEvent)? = { nil },
        _ members: (JSONWriter) throws -> Void
    ) {
        let (route, recorder) = pipeline.take()
        defer { pipeline.putBack(recorder) }
        guard pipeline.isWanted(category, route) else { return }
        let process = CurrentProcess.id
        let fragments = scope.fragments(process: process, &recorder.fragments)
        guard !fragments.identity.isEmpty else {
            return pipeline.fail(
                .invalid, event: name(), details,
                "was not recorded: it has neither a user id nor an anonymous id; "
                    + "pass one to scoped(toUser:anonymousID:)"
            )
        }
        let writer = recorder.writer
        writer.builder.maximumSize = options.maximumEventSize
        writer.builder.text.append("{\"type\":\"")
        writer.builder.text.append(kind.text)
        writer.builder.text.append("\",")
        do {
            try members(writer)
        } catch {
            let code: Diagnostic.Code =
                switch error as? JSONWriterError {
                case .tooLarge: .tooLarge
                case .nameless, .twoNames, .noProperties, .unlabelled: .invalid
                default: .notEncodable
                }
            return pipeline.fail(code, event: name(), details, "was not recorded: \(Self.reason(error))")
        }
        // Moves the text out of the writer: the exclusivity of a local variable is checked at compile time, not at run
        // time.
        var text = JSONText()
        swap(&text, &writer.builder.text)
        defer { swap(&text, &writer.builder.text) }
        if let start = writer.propertiesStart { fragments.appendProperties(to: &text, objectAt: start) }
        let now = details.date ?? options.now()
        text.append(",\"messageId\":")
        if let messageID = details.messageID, !messageID.isEmpty {
            text.append(string: messageID)
        } else {
            text.append(byte: "\"")
            messageIDs.append(at: now, process: process, to: &text)
            text.append(byte: "\"")
        }
        let end = text.bytes.count
        text.append(",\"timestamp\":")
        // Without a timestamp, the daemon uses the time at which it receives the event.
        text.append(byte: "\"")
        if recorder.timestamps.append(now, to: &text) {
            text.append(byte: "\"")
        } else {
            text.bytes.removeSubrange(end...)
        }
        text.bytes.append(contentsOf: fragments.identity)
        let traceID = options.traceID?()
        if fragments.hasContext || details.timing != nil || traceID != nil {
            text.bytes.append(contentsOf: fragments.context)
            var isFirst = !fragments.hasContext
            if let timing = details.timing {
                text.append(isFirst ? "\"timing\":" : ",\"timing\":")
                isFirst = false
                timing.append(to: &text)
            }
            if let traceID {
                text.append(isFirst ? "\"trace\":{\"id\":" : ",\"trace\":{\"id\":")
                text.append(string: traceID)
                text.append(byte: "}")
            }
            text.append(byte: "}")
        }
        text.append(byte: "}")
        guard text.bytes.count <= options.maximumEventSize else {
            return pipeline.fail(
                .tooLarge, event: name(), details,
                "was not recorded: it has \(text.bytes.count) bytes; "
                    + "maximumEventSize is \(options.maximumEventSize) bytes")
        }
        if writer.builder.replaced > 0 {
            let replaced = writer.builder.replaced
            let values = replaced == 1 ? "1 value that was" : "\(replaced) values that were"
            report(
                Diagnostic(
                    .valueReplaced, event: name(), at: details,
                    "has \(values) recorded as null: JSON cannot represent them (NaN, for example)"))
        }
        var event = RecordedEvent(
            kind: kind, consentCategory: category, json: Array(text.bytes[...]), at: details.site)
        if route.receivesTypes { event.source = source() }
        pipeline.record(event, route, details)
    }

    private static func reason(_ error: any Error) -> String {
        guard case EncodingError.invalidValue(_, let context) = error else { return "\(error)" }
        return context.debugDescription
    }

    /// Makes an id for a session or an anonymous user.
    func makeID() -> String { messageIDs.make(at: options.now(), process: CurrentProcess.id) }

    static func nonEmpty(_ text: String?) -> String? { text.flatMap { $0.isEmpty ? nil : $0 } }
}

extension RecordedEvent.Kind {
    /// The value of the member `type`.
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
