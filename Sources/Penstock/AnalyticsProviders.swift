extension Analytics {
    /// The providers, in the order in which they are called, including disabled ones.
    public var providers: [any AnalyticsProvider] { pipeline.providers.map(\.provider) }

    /// Adds a provider, which receives every event from now on. It replaces a provider of the same name.
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

    /// Removes a provider. It still sends the events that it has taken if the caller keeps it, or flushes it.
    ///
    /// - Returns: The provider; nil if no provider has this name.
    @discardableResult
    public func removeProvider(named name: String) -> (any AnalyticsProvider)? {
        pipeline.changeProviders { providers in
            providers.firstIndex { $0.name == name }.map { providers.remove(at: $0).provider }
        }
    }

    /// Returns whether the provider with this name exists and receives events.
    public func isProviderEnabled(named name: String) -> Bool {
        pipeline.providers.first { $0.name == name }?.isEnabled ?? false
    }

    /// Enables or disables a provider. A disabled provider never receives the events recorded meanwhile.
    public func setProvider(named name: String, isEnabled: Bool) {
        let isFound = pipeline.changeProviders { providers in
            guard let index = providers.firstIndex(where: { $0.name == name }) else { return false }
            providers[index].isEnabled = isEnabled
            return true
        }
        guard !isFound else { return }
        let names = pipeline.providers.map { "\"\($0.name)\"" }.joined(separator: ", ")
        report(
            Diagnostic(
                .notFound, "there is no provider \"\(name)\"; there are: \(names.isEmpty ? "none" : names)", events: 0))
    }

    /// The steps that every event passes through, in order, before it is held or passed to providers.
    public var middleware: [Middleware] {
        get { pipeline.middleware }
        set { pipeline.setMiddleware(newValue) }
    }

    /// Adds a step after the existing ones.
    public func use(_ middleware: Middleware) { pipeline.append(middleware) }

    /// The user's consent.
    ///
    /// Setting it delivers the held events that are now allowed, in the order in which they were recorded, before it
    /// returns. Held events that the new consent does not hold are discarded.
    public var consent: Consent {
        get { pipeline.consent }
        set { pipeline.change(to: newValue) }
    }

    /// The number of events so far by outcome, including those of all instances that share these providers.
    public var statistics: AnalyticsStatistics { pipeline.statistics }

    /// Waits until every provider has brought the events recorded before this call to where they cannot be lost, or
    /// until the timeout. Call it after an event that must not be lost. At the end of a program it is not needed: see
    /// ``DaemonProvider/Options/exitTimeout``.
    ///
    /// Events that are held until the user consents stay in memory.
    ///
    /// - Parameter timeout: The longest time to wait.
    /// - Returns: Whether the flush is complete, or how many events are still in memory.
    @discardableResult
    public func flush(timeout: Duration = .seconds(5)) async -> FlushOutcome {
        await Flush(of: pipeline.providers.map(\.provider), timeout: timeout).outcome()
    }

    /// Blocks the calling thread until every provider has brought the events recorded before this call to where they
    /// cannot be lost, or until the timeout. For code that is not asynchronous, such as a command-line tool.
    ///
    /// Do not call it from code that a task calls, because it would keep one of Swift's few threads from working. It is
    /// not an overload of `flush`, because at the top level of `main.swift` the compiler would choose it even after
    /// `await`.
    ///
    /// - Parameter timeout: The longest time to wait.
    /// - Returns: Whether the flush is complete, or how many events are still in memory.
    @available(*, noasync, message: "use the asynchronous flush: await analytics.flush()")
    @discardableResult
    public func flushBlocking(timeout: Duration = .seconds(5)) -> FlushOutcome {
        Flush(of: pipeline.providers.map(\.provider), timeout: timeout).blockingOutcome()
    }
}
