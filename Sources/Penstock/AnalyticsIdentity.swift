extension Analytics {
    /// Who uses the application, if that is known.
    public var userID: String? { scope.current.userID }

    /// What whoever uses the application is called as long as nothing better is known.
    public var anonymousID: String { scope.current.anonymousID }

    /// Forgets the user, the session, the super properties and the application's context, as when somebody
    /// signs out: whoever comes next has another anonymous id.
    public func reset() {
        let anonymousID = makeID()
        scope.change { scope in
            scope = AnalyticsScope(userID: nil, anonymousID: anonymousID, automatic: scope.automatic)
        }
    }

    // MARK: What every event says

    /// Properties of every track, page and screen. An event's own have precedence.
    public var superProperties: [String: PropertyValue] {
        get { scope.current.superProperties }
        set { scope.change { $0.superProperties = newValue } }
    }

    /// Adds super properties. Unlike setting `superProperties`, it leaves alone what another thread adds
    /// meanwhile.
    public func registerSuperProperties(_ properties: [String: PropertyValue]) {
        scope.change { $0.superProperties.merge(properties, uniquingKeysWith: { $1 }) }
    }

    /// Removes a super property.
    public func unregisterSuperProperty(_ name: String) {
        scope.change { $0.superProperties[name] = nil }
    }

    /// The context that every event carries: what was found out about the surroundings, and on top of it
    /// what the application has set.
    public var context: [String: PropertyValue] {
        let scope = scope.current
        return scope.automatic.merging(scope.context, uniquingKeysWith: { $1 })
    }

    /// Sets a member of the context of every event, over one that was found out if need be; nil takes it
    /// back.
    public func setContext(_ name: String, to value: PropertyValue?) {
        scope.change { $0.context[name] = value }
    }

    // MARK: Sessions

    /// The id of the session that is under way.
    public var sessionID: String? { scope.current.session?.id }

    /// Begins a session, in place of one that is under way. Every event carries it from now on.
    ///
    /// With a user who has signed in, it records their `identify`, whose traits are what the user encodes.
    /// After a user has gone, the next one has another anonymous id.
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
        if let user = session.user, let traits = object(user, "the session's user") { identify(user.userID, traits: traits) }
    }

    /// Replaces the settings of the session that is under way. If the user has signed in, it records an
    /// `identify`, so that profiles follow.
    public func update(settings: some Encodable) {
        guard let settings = object(settings, "the session's settings") else { return }
        let userID: String?? = scope.change { scope in
            guard scope.session != nil else { return nil }
            scope.session?.settings = settings
            return .some(scope.session?.kind == .authenticated ? scope.userID : nil)
        }
        guard let userID else {
            return report(Diagnostic(.notFound, "no session is under way whose settings could be updated: start one first", events: 0))
        }
        if let userID { identify(userID) }
    }

    /// Ends the session that is under way. The user stays known; `reset()` forgets them.
    public func endSession() {
        scope.change { $0.session = nil }
    }

    /// A value's members; nil, and a report, if it has none.
    private func object(_ value: any Encodable, _ what: String) -> [String: PropertyValue]? {
        do {
            if let members = try PropertyValue(encoding: value).object { return members }
            report(Diagnostic(.notEncodable, "\(what) encode no object", events: 0))
        } catch {
            report(Diagnostic(.notEncodable, "\(what) cannot be encoded: \(error)", events: 0))
        }
        return nil
    }
}
