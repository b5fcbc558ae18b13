import Assembly
import Configuration
import Destinations
import Ingest
import Journal

/// A configuration with everything prepared that can fail: sockets are opened, names resolved. Nothing
/// that runs has been changed. If it is not applied, `abandon` releases what was prepared.
struct Preparation {
    struct PreparedSource {
        var source: Configuration.Source
        var socket: HeldSocket
        var admission: Admission
    }

    struct PreparedDestination {
        var destination: Configuration.Destination
        var prepared: DestinationBuilder.Prepared
    }

    let configuration: Configuration
    /// Sources with sockets that are new or changed.
    private(set) var sources: [PreparedSource] = []
    /// Source plugins that are new or changed. The old version of a changed one stops first.
    private(set) var sourcePlugins: [(source: Configuration.Source, plugin: Configuration.Plugin)] = []
    private(set) var removedSources: [String] = []
    /// Sources that no longer listen: removed, or a plugin now.
    private(set) var removedSockets: [String] = []
    /// Source plugins that stop: changed or removed.
    private(set) var endingSourcePlugins: [String] = []
    /// Destinations that are new or changed. The old version of a changed one stops first.
    private(set) var destinations: [PreparedDestination] = []
    /// Destinations that stop: changed or removed.
    private(set) var endingDestinations: [String] = []
    let journalChanged: Bool
    let controlChanged: Bool

    /// - Parameters:
    ///   - old: the running configuration; nil at the start.
    ///   - replaced: the running destinations whose code has been replaced on disk. They start again.
    ///   - replacedSources: the same of sources.
    /// - Throws: all errors at once, not just the first.
    init(
        of configuration: Configuration, replacing old: Configuration?, replaced: [String] = [],
        replacedSources: [String] = [], builder: DestinationBuilder, sockets: SourceSockets
    ) throws(OperatorErrors) {
        self.configuration = configuration
        var errors: [OperatorError] = []
        let difference = old.map { ConfigurationDifference(from: $0, to: configuration) }
        if difference?.journalDirectoryChanged == true {
            errors.append(
                OperatorError(
                    "journal.directory cannot change while the daemon runs: restart it (systemctl restart penstock)"))
        }
        journalChanged = difference?.journalChanged ?? false
        do {
            try JournalOptions(configuration.journal).validate()
        } catch {
            errors.append(OperatorError("\(error)"))
        }
        controlChanged = difference?.controlChanged ?? false

        let newSources = Set(
            difference.map { $0.sources.added + $0.sources.changed } ?? configuration.sources.map(\.name)
        ).union(replacedSources)
        removedSources = difference?.sources.removed ?? []
        removedSockets =
            removedSources
            + configuration.sources.filter { newSources.contains($0.name) && $0.plugin != nil }.map(\.name)
        endingSourcePlugins = newSources.union(removedSources).sorted()
        for source in configuration.sources where newSources.contains(source.name) {
            if let plugin = source.plugin {
                sourcePlugins.append((source, plugin))
                continue
            }
            do {
                sources.append(
                    PreparedSource(
                        source: source, socket: try sockets.open(source), admission: try sockets.admission(source)))
            } catch {
                errors.append(error as? OperatorError ?? OperatorError("source \"\(source.name)\": \(error)"))
            }
        }

        let removed = Set(difference?.destinations.removed ?? [])
        let changed =
            (difference.map { $0.destinations.changed + $0.rerouted } ?? []) + replaced.filter { !removed.contains($0) }
        let newDestinations = Set(
            difference.map { $0.destinations.added + changed } ?? configuration.destinations.map(\.name))
        endingDestinations = Set(changed).union(removed).sorted()
        for destination in configuration.destinations where newDestinations.contains(destination.name) {
            do {
                destinations.append(
                    PreparedDestination(
                        destination: destination, prepared: try builder.prepare(destination, in: configuration)))
            } catch {
                errors.append(OperatorError("destination \"\(destination.name)\": \(error)"))
            }
        }
        if !errors.isEmpty {
            abandon(sockets)
            throw OperatorErrors(errors)
        }
    }

    /// Removes the socket files that were created for this configuration.
    func abandon(_ sockets: SourceSockets) {
        for prepared in sources { sockets.abandon(prepared.socket) }
    }
}
