extension Analytics {
    /// The id of the current user; nil while the user is unknown.
    public var userID: String? { scope.current.userID }

    /// The id that identifies this visitor while the user is unknown.
    public var anonymousID: String { scope.current.anonymousID }

    /// Clears the user, the session, the super properties and the application's context, and makes a new anonymous id.
    /// Call it when the user signs out.
    public func reset() {
        let anonymousID = makeID()
        scope.change { scope in
            scope = AnalyticsScope(userID: nil, anonymousID: anonymousID, automatic: scope.automatic)
        }
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
    public func start(session: AnalyticsSession) {
        guard let settings = object(session.settings, "the session's settings") else { return }
        let running = RunningSession(id: makeID(), kind: session.kind, settings: settings)
        let anonymousID = makeID()
        let userID = session.user.map(\.userID)
        scope.change { scope in
            if scope.userID != nil, scope.userID != userID { scope.anonymousID = anonymousID }
            scope.userID = userID.flatMap(Self.nonEmpty)
            scope.session = running
        }
        if let user = session.user, let traits = object(user, "the session's user") {
            identify(user.userID, traits: traits)
        }
    }

    /// Replaces the settings of the active session. If its user is signed in, this also records an `identify`, so that
    /// user profiles are updated.
    public func update(settings: some Encodable) {
        guard let settings = object(settings, "the session's settings") else { return }
        let userID: String?? = scope.change { scope in
            guard scope.session != nil else { return nil }
            scope.session?.settings = settings
            return .some(scope.session?.kind == .authenticated ? scope.userID : nil)
        }
        guard let userID else {
            return report(
                Diagnostic(
                    .notFound, "the settings were not updated: no session is active; call start(session:) first",
                    events: 0))
        }
        if let userID { identify(userID) }
    }

    /// Ends the active session. The user stays known; call `reset()` to forget the user.
    public func endSession() {
        scope.change { $0.session = nil }
    }

    /// Returns the members of a value. If the value does not encode as an object, reports that and returns nil.
    private func object(_ value: any Encodable, _ what: String) -> [String: PropertyValue]? {
        do {
            if let members = try PropertyValue(encoding: value).object { return members }
            report(Diagnostic(.notEncodable, "\(what) must encode as an object, with keys and values", events: 0))
        } catch {
            report(Diagnostic(.notEncodable, "cannot encode \(what): \(error)", events: 0))
        }
        return nil
    }
}
