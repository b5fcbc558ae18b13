/// The changes that a reload must make. It holds names only; the values are in the two configurations.
package struct ConfigurationDifference: Sendable, Equatable {
    package struct Names: Sendable, Equatable {
        /// In the new configuration's order.
        package var added: [String] = []
        /// In the old configuration's order.
        package var removed: [String] = []
        /// In both configurations, with different values.
        package var changed: [String] = []

        package var isEmpty: Bool { added.isEmpty && removed.isEmpty && changed.isEmpty }
    }

    package var sources: Names
    /// `changed` lists destinations that need a new worker: a new target, other limits, or another retry policy.
    /// `start` does not count as a change, since it applies only when a destination first appears.
    package var destinations: Names
    /// Destinations in both configurations for which events are selected or transformed differently: their own filter,
    /// transforms or mapping, the routes to them, or the pipeline changed. May overlap with `destinations.changed`.
    package var rerouted: [String]
    /// A reload must reject this change.
    package var journalDirectoryChanged: Bool
    /// Any other key of the journal changed.
    package var journalChanged: Bool
    package var planChanged: Bool
    package var routingChanged: Bool
    /// The control socket changed.
    package var controlChanged: Bool
    /// The address of the metrics changed.
    package var metricsChanged: Bool
    /// The address or the socket of the page changed.
    package var pageChanged: Bool
    package var pluginDirectoriesChanged: Bool

    package init(from old: Configuration, to new: Configuration) {
        sources = Self.names(old.sources, new.sources, \.name) { $0 == $1 }
        destinations = Self.names(old.destinations, new.destinations, \.name) { a, b in
            var a = a
            a.start = b.start
            a.rules = b.rules
            a.mapping = b.mapping
            a.outputs = b.outputs
            a.maximumEventSize = b.maximumEventSize
            return a == b
        }
        let before = Dictionary(old.destinations.map { ($0.name, $0) }, uniquingKeysWith: { first, _ in first })
        rerouted = new.destinations.filter { destination in
            guard let earlier = before[destination.name] else { return false }
            return earlier.rules != destination.rules || earlier.mapping != destination.mapping
                || earlier.outputs != destination.outputs
                || earlier.maximumEventSize != destination.maximumEventSize || old.pipeline != new.pipeline
                || Self.ways(to: destination.name, in: old) != Self.ways(to: destination.name, in: new)
        }.map(\.name)
        journalDirectoryChanged = old.journal.directory != new.journal.directory
        var journal = old.journal
        journal.directory = new.journal.directory
        journalChanged = journal != new.journal
        planChanged = old.plan != new.plan
        routingChanged = old.routing != new.routing
        controlChanged = old.control.socket != new.control.socket
        metricsChanged = old.control.metrics != new.control.metrics
        pageChanged = old.control.page != new.control.page
        pluginDirectoriesChanged = old.plugins != new.plugins
    }

    package var isEmpty: Bool {
        sources.isEmpty && destinations.isEmpty && rerouted.isEmpty && !journalDirectoryChanged && !journalChanged
            && !planChanged && !routingChanged && !controlChanged && !metricsChanged && !pageChanged
            && !pluginDirectoriesChanged
    }

    /// The routes to a destination, without their other destinations.
    private static func ways(to name: String, in configuration: Configuration) -> [Configuration.Route] {
        configuration.routes.filter { $0.to.contains(name) }.map { route in
            var way = route
            way.to = [name]
            return way
        }
    }

    private static func names<Item>(
        _ old: [Item], _ new: [Item], _ name: KeyPath<Item, String>, same: (Item, Item) -> Bool
    ) -> Names {
        let before = Dictionary(old.map { ($0[keyPath: name], $0) }, uniquingKeysWith: { first, _ in first })
        let after = Set(new.map { $0[keyPath: name] })
        var names = Names()
        for item in new {
            guard let earlier = before[item[keyPath: name]] else {
                names.added.append(item[keyPath: name])
                continue
            }
            if !same(earlier, item) { names.changed.append(item[keyPath: name]) }
        }
        names.removed = old.map { $0[keyPath: name] }.filter { !after.contains($0) }
        return names
    }
}
