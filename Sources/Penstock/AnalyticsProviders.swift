extension Analytics {
    /// Where events go, in the order in which they are called; disabled ones too.
    public var providers: [any AnalyticsProvider] { pipeline.providers.map(\.provider) }

    /// Adds a provider, which gets every event from now on; in the place of one that has its name.
    public func add(_ provider: any AnalyticsProvider) {
        provider.attach(to: pipeline.diagnostics)
        let added = EventPipeline.RegisteredProvider(name: provider.name, provider: provider)
        pipeline.changeProviders { providers in
            if let index = providers.firstIndex(where: { $0.name == added.name }) {
                providers[index] = added
            } else {
                providers.append(added)
            }
        }
    }

    /// Removes a provider. What it has not sent yet it still sends, if the caller keeps it or flushes it.
    /// - Returns: the provider; nil if there is none of that name.
    @discardableResult
    public func removeProvider(named name: String) -> (any AnalyticsProvider)? {
        pipeline.changeProviders { providers in
            providers.firstIndex { $0.name == name }.map { providers.remove(at: $0).provider }
        }
    }

    /// Whether a provider gets events.
    public func isProviderEnabled(named name: String) -> Bool {
        pipeline.providers.first { $0.name == name }?.isEnabled ?? false
    }

    /// Lets a provider have events, or not. Those that are recorded while it is disabled it never gets.
    public func setProvider(named name: String, isEnabled: Bool) {
        let isFound = pipeline.changeProviders { providers in
            guard let index = providers.firstIndex(where: { $0.name == name }) else { return false }
            providers[index].isEnabled = isEnabled
            return true
        }
        guard !isFound else { return }
        let names = pipeline.providers.map { "\"\($0.name)\"" }.joined(separator: ", ")
        report(Diagnostic(.notFound, "there is no provider \"\(name)\"; there are: \(names.isEmpty ? "none" : names)", events: 0))
    }

    /// Steps that every event takes before it is held or handed to providers, in order.
    public var middleware: [Middleware] {
        get { pipeline.middleware }
        set { pipeline.setMiddleware(newValue) }
    }

    /// Adds a step behind those that are there.
    public func use(_ middleware: Middleware) { pipeline.append(middleware) }

    /// What the user has agreed to. Setting it hands on those of the held events that are allowed now, in
    /// the order in which they were recorded, before it returns; and discards those that are not to be held.
    public var consent: Consent {
        get { pipeline.consent }
        set { pipeline.change(to: newValue) }
    }

    /// What became of events so far; together with all that share this one's providers.
    public var statistics: AnalyticsStatistics { pipeline.statistics }

    /// Returns when every provider has brought what was recorded before to where it cannot be lost, or when
    /// the time is over. To lose nothing at the end of a program, this is its last call.
    ///
    /// What is held for want of consent stays where it is.
    @discardableResult
    public func flush(timeout: Duration = .seconds(5)) async -> FlushOutcome {
        await Flush(of: pipeline.providers.map(\.provider)).outcome(timeout: timeout)
    }
}
