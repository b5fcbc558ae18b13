import Configuration
import Destinations
import Ingest
import Journal

/// What a configuration asks for that can fail, done before anything that runs is touched: sockets
/// opened, plugins loaded, names resolved. What of it is not used is given back with `abandon`.
struct Preparation {
    struct PreparedSource {
        var source: Configuration.Source
        var socket: HeldSocket
        var admission: Admission
    }

    struct PreparedDestination {
        var destination: Configuration.Destination
        var prepared: DestinationAssembly.Prepared
    }

    let configuration: Configuration
    /// Sources that are new or changed.
    private(set) var sources: [PreparedSource] = []
    private(set) var removedSources: [String] = []
    /// Destinations that are new or changed; those changed end first.
    private(set) var destinations: [PreparedDestination] = []
    /// Destinations that end: changed or removed.
    private(set) var endingDestinations: [String] = []
    let journalChanged: Bool
    let controlChanged: Bool

    /// - Parameter old: the configuration that runs; nil at the start.
    /// - Throws: `DaemonError`s, all that there are.
    init(
        of configuration: Configuration, replacing old: Configuration?, assembly: DestinationAssembly, sockets: SourceSockets
    ) throws(DaemonErrors) {
        self.configuration = configuration
        var errors: [DaemonError] = []
        let difference = old.map { ConfigurationDifference(from: $0, to: configuration) }
        if difference?.journalDirectoryChanged == true {
            errors.append(
                DaemonError("journal.directory cannot change while the daemon runs: restart it (systemctl restart penstock)"))
        }
        journalChanged = difference?.journalChanged ?? false
        do {
            try JournalOptions(configuration.journal).validate()
        } catch {
            errors.append(DaemonError("\(error)"))
        }
        controlChanged = difference?.controlChanged ?? false

        let newSources = Set(difference.map { $0.sources.added + $0.sources.changed } ?? configuration.sources.map(\.name))
        removedSources = difference?.sources.removed ?? []
        for source in configuration.sources where newSources.contains(source.name) {
            do {
                sources.append(
                    PreparedSource(
                        source: source, socket: try sockets.open(source), admission: try sockets.admission(source)))
            } catch {
                errors.append(error as? DaemonError ?? DaemonError("source \"\(source.name)\": \(error)"))
            }
        }

        let changed = difference.map { $0.destinations.changed + $0.rerouted } ?? []
        let newDestinations = Set(difference.map { $0.destinations.added + changed } ?? configuration.destinations.map(\.name))
        endingDestinations = Array(Set(changed + (difference?.destinations.removed ?? []))).sorted()
        for destination in configuration.destinations where newDestinations.contains(destination.name) {
            do {
                destinations.append(
                    PreparedDestination(
                        destination: destination, prepared: try assembly.prepare(destination, in: configuration)))
            } catch {
                errors.append(DaemonError("destination \"\(destination.name)\": \(error)"))
            }
        }
        if !errors.isEmpty {
            abandon(sockets)
            throw DaemonErrors(errors)
        }
    }

    /// Removes the files of sockets that were opened for it.
    func abandon(_ sockets: SourceSockets) {
        for prepared in sources { sockets.abandon(prepared.socket) }
    }
}
