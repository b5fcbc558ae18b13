import Assembly
import DaemonConfiguration
import Destinations
import Ingest
import Journal
import Platform

/// A configuration with everything prepared that can fail: sockets are opened, names resolved. Nothing
/// that runs has been changed. If it is not applied, `abandon` releases what was prepared.
struct Preparation {
    struct PreparedSource {
        var source: Configuration.Source
        /// Nil: the source has only `http`.
        var socket: HeldSocket?
        var datagrams: HeldSocket?
        var tcp: HeldSocket?
        /// How `tcp` is encrypted; nil: it is not.
        var tls: TLSContext?
        var admission: Admission

        /// Its sockets by their names.
        var sockets: [(name: String, socket: HeldSocket)] {
            [
                (source.name, socket), (Datagrams.name(ofSource: source.name), datagrams),
                (Ingest.tcpName(ofSource: source.name), tcp),
            ].compactMap { name, socket in socket.map { (name, $0) } }
        }
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
    /// The names of sockets that are no longer used: their source was removed, is a plugin now, or has no datagrams.
    private(set) var removedSockets: [String] = []
    /// Source plugins that stop: changed or removed.
    private(set) var endingSourcePlugins: [String] = []
    /// Destinations that are new or changed. The old version of a changed one stops first.
    private(set) var destinations: [PreparedDestination] = []
    /// Destinations that stop: changed or removed.
    private(set) var endingDestinations: [String] = []
    let journalChanged: Bool
    let controlChanged: Bool
    /// Whether the metrics get a listener, or another one, or none.
    let metricsChanged: Bool
    /// The same of the page.
    let pageChanged: Bool

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
        metricsChanged = difference?.metricsChanged ?? (configuration.control.metrics != nil)
        pageChanged = difference?.pageChanged ?? (configuration.control.page != nil)

        // The files of a TLS listener may have changed without a change of the configuration.
        let newSources = Set(
            difference.map { $0.sources.added + $0.sources.changed } ?? configuration.sources.map(\.name)
        ).union(replacedSources).union(configuration.sources.filter { $0.http?.tls != nil }.map(\.name))
        removedSources = difference?.sources.removed ?? []
        func removed(without isMissing: (Configuration.Source) -> Bool) -> [String] {
            removedSources
                + configuration.sources.filter { newSources.contains($0.name) && isMissing($0) }.map(\.name)
        }
        removedSockets =
            removed { $0.plugin != nil || !sockets.has($0) }
            + removed { $0.datagram == nil }.map { Datagrams.name(ofSource: $0) }
            + removed { $0.http == nil }.map { Ingest.tcpName(ofSource: $0) }
        endingSourcePlugins = newSources.union(removedSources).sorted()
        for source in configuration.sources where newSources.contains(source.name) {
            if let plugin = source.plugin {
                sourcePlugins.append((source, plugin))
                continue
            }
            do {
                sources.append(try PreparedSource(source, sockets))
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
        for (_, socket) in sources.flatMap(\.sockets) { sockets.abandon(socket) }
    }
}

extension Preparation.PreparedSource {
    fileprivate init(_ source: Configuration.Source, _ sockets: SourceSockets) throws {
        self.source = source
        admission = try sockets.admission(source)
        tls = try source.http?.tls.map { tls in
            do throws(TLSError) {
                return try TLSContext(TLSContext.Options(tls))
            } catch {
                throw OperatorError("source \"\(source.name)\": tls: \(error)")
            }
        }
        tcp = try sockets.openTCP(source)
        socket = try sockets.open(source)
        do {
            datagrams = try sockets.openDatagrams(source)
        } catch {
            if let socket { sockets.abandon(socket) }
            throw error
        }
    }
}
