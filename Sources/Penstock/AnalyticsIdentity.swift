#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

extension Analytics {
    /// The id of the current user; nil while the user is unknown.
    public var userID: String? { scope.current.userID }

    /// The id that identifies this visitor while the user is unknown; nil in an instance that was scoped to a user
    /// without one.
    public var anonymousID: String? { scope.current.anonymousID }

    /// Clears the user, the session and the super properties, and makes a new anonymous id. The context that the
    /// application has set stays. Call it when the user signs out.
    public func reset() {
        let anonymousID = makeID()
        scope.change { scope in
            scope = AnalyticsScope(
                userID: nil, anonymousID: anonymousID, context: scope.context, automatic: scope.automatic)
        }
        keep(anonymousID: anonymousID)
    }

    // MARK: Super properties and context

    /// Properties that are added to every track, page and screen. If an event has a property of the same name, the
    /// event's value is used.
    public var superProperties: [String: PropertyValue] {
        get { scope.current.superProperties }
        set { scope.change { $0.superProperties = newValue } }
    }

    /// Adds super properties. Unlike setting `superProperties`, this keeps properties that another thread adds at the
    /// same time.
    public func registerSuperProperties(_ properties: [String: PropertyValue]) {
        scope.change { $0.superProperties.merge(properties, uniquingKeysWith: { $1 }) }
    }

    /// Removes a super property.
    public func unregisterSuperProperty(_ name: String) {
        scope.change { $0.superProperties[name] = nil }
    }

    /// The context of every event: the automatic context, and the members that the application has set, which take
    /// precedence.
    public var context: [String: PropertyValue] {
        let scope = scope.current
        return scope.automatic.merging(scope.context, uniquingKeysWith: { $1 })
    }

    /// Sets a member of the context of every event. It takes precedence over an automatic member of the same name.
    ///
    /// - Parameters:
    ///   - name: The member's name in `context`.
    ///   - value: The new value; nil removes the value that the application has set.
    public func setContext(_ name: String, to value: PropertyValue?) {
        scope.change { $0.context[name] = value }
    }

    // MARK: Sessions

    /// The id of the active session; nil if no session is active.
    public var sessionID: String? { scope.current.session?.id }

    /// Starts a session and replaces the active one. Every event carries the session from now on.
    ///
    /// If the session has a signed-in user, this records an `identify` whose traits are what the user encodes. If a
    /// different user was known before, this also makes a new anonymous id.
    ///
    /// - Parameters:
    ///   - session: The session.
    ///   - date: The time of the `identify`; nil for now.
    ///   - messageID: The id of the `identify`; nil for a new one.
    ///   - fileID: The file of the call, for diagnostics.
    ///   - line: The line of the call.
    public func start(
        session: AnalyticsSession, at date: Date? = nil, messageID: String? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        let site = EventDetails(fileID: fileID, line: line)
        guard let settings = object(session.settings, "the session's settings", site) else { return }
        let running = RunningSession(id: makeID(), kind: session.kind, settings: settings)
        let anonymousID = makeID()
        let userID = session.user.map(\.userID)
        let isNew = scope.change { scope in
            let isNew = scope.userID != nil && scope.userID != userID
            if isNew { scope.anonymousID = anonymousID }
            scope.userID = userID.flatMap(Self.nonEmpty)
            scope.session = running
            return isNew
        }
        if isNew { keep(anonymousID: anonymousID) }
        if let user = session.user, let traits = object(user, "the session's user", site) {
            identify(user.userID, traits: traits, at: date, messageID: messageID, fileID: fileID, line: line)
        }
    }

    /// Replaces the settings of the active session. If its user is signed in, this also records an `identify`, so that
    /// user profiles are updated.
    ///
    /// - Parameters:
    ///   - settings: The state of the application. It must encode as an object.
    ///   - date: The time of the `identify`; nil for now.
    ///   - messageID: The id of the `identify`; nil for a new one.
    ///   - fileID: The file of the call, for diagnostics.
    ///   - line: The line of the call.
    public func update(
        settings: some Encodable, at date: Date? = nil, messageID: String? = nil, fileID: StaticString = #fileID,
        line: UInt = #line
    ) {
        let site = EventDetails(fileID: fileID, line: line)
        guard let settings = object(settings, "the session's settings", site) else { return }
        let userID: String?? = scope.change { scope in
            guard scope.session != nil else { return nil }
            scope.session?.settings = settings
            return .some(scope.session?.kind == .authenticated ? scope.userID : nil)
        }
        guard let userID else {
            return report(
                Diagnostic(
                    .notFound, about: "the session's settings", at: site,
                    "were not updated: no session is active; call start(session:) first"))
        }
        if let userID { identify(userID, at: date, messageID: messageID, fileID: fileID, line: line) }
    }

    /// Ends the active session. The user stays known; call `reset()` to forget the user.
    public func endSession() {
        scope.change { $0.session = nil }
    }

    /// Returns the members of a value. If the value does not encode as an object, reports that and returns nil.
    private func object(_ value: any Encodable, _ what: String, _ site: EventDetails) -> [String: PropertyValue]? {
        do {
            if let members = try PropertyValue(encoding: value).dictionary { return members }
            report(Diagnostic(.notEncodable, about: what, at: site, "must encode as an object, with keys and values"))
        } catch {
            report(Diagnostic(.notEncodable, about: what, at: site, "cannot be encoded: \(error)"))
        }
        return nil
    }
}
