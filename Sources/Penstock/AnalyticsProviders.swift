extension Analytics {
    /// The providers, in the order in which they are called, including disabled ones.
    public var providers: [any AnalyticsProvider] { pipeline.providers.map(\.provider) }

    /// Adds a provider, which receives every event from now on.
    ///
    /// Each provider has a name of its own in this `Analytics`. If a provider without a name of its own is added twice,
    /// both work: the second one is named "DaemonProvider 2". A provider that is given the name of another one, here or
    /// by its initializer, replaces that one, which is reported as ``Diagnostic/Code/providerReplaced``.
    ///
    /// - Parameters:
    ///   - provider: The provider.
    ///   - name: The name by which the application disables or removes the provider; nil for the provider's own.
    ///   - middleware: Steps for this provider's events only, after the steps for all. An event that they drop still
    ///     counts as recorded.
    /// - Returns: The provider's name.
    @discardableResult
    public func add(_ provider: any AnalyticsProvider, named name: String? = nil, middleware: [Middleware] = [])
        -> String
    {
        provider.attach(to: pipeline.diagnostics)
        let wanted = name ?? provider.name
        let isDefault = name == nil && wanted == String(describing: type(of: provider))
        let (taken, isReplaced) = pipeline.changeProviders { providers -> (String, Bool) in
            var added = EventPipeline.RegisteredProvider(name: wanted, provider: provider, middleware: middleware)
            guard let index = providers.firstIndex(where: { $0.name == wanted }) else {
                providers.append(added)
                return (wanted, false)
            }
            guard isDefault else {
                providers[index] = added
                return (wanted, true)
            }
            // The same object again is not a second provider.
            if let index = providers.firstIndex(where: { Self.isSame($0.provider, provider) }) {
                return (providers[index].name, false)
            }
            var number = 2
            while providers.contains(where: { $0.name == "\(wanted) \(number)" }) { number += 1 }
            added.name = "\(wanted) \(number)"
            providers.append(added)
            return (added.name, false)
        }
        if isReplaced {
            report(
                Diagnostic(
                    .providerReplaced,
                    "the provider \"\(taken)\" was replaced by another one of that name, and receives no more events; "
                        + "to use both, give them different names: add(_:named:)",
                    events: 0))
        }
        return taken
    }

    private static func isSame(_ a: any AnalyticsProvider, _ b: any AnalyticsProvider) -> Bool {
        guard type(of: a) is AnyClass, type(of: b) is AnyClass else { return false }
        return ObjectIdentifier(a as AnyObject) == ObjectIdentifier(b as AnyObject)
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

    /// Withdraws the user's consent: sets `consent` to `.off`, which discards held events.
    ///
    /// - Parameter purging: Whether the providers also discard the events that they have not delivered yet, in memory
    ///   and on disk. Events that have left this process, to the daemon for example, are out of reach. The spools of
    ///   other running processes stay.
    public func withdrawConsent(purging: Bool) {
        consent = .off
        if purging { for registered in pipeline.providers { registered.provider.purge() } }
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
    /// - Parameter timeout: The longest time to wait. Providers then write the rest to their spools, which takes about
    ///   a millisecond, and at most 2 s if the disk is slow.
    /// - Returns: Whether the flush is complete, or how many events are still in memory.
    @available(*, noasync, message: "use the asynchronous flush: await analytics.flush()")
    @discardableResult
    public func flushBlocking(timeout: Duration = .seconds(5)) -> FlushOutcome {
        Flush(of: pipeline.providers.map(\.provider), timeout: timeout).blockingOutcome()
    }
}
