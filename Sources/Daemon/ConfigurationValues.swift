import Configuration
import Control
import Delivery
import Destinations
import Events
import Ingest
import Journal
import Platform
import Routing
import Telemetry

// The configuration's values as the rooms want them. The rooms do not know the configuration, so
// somebody has to say which is which.

extension JournalOptions {
    init(_ journal: Configuration.Journal) {
        self.init()
        sync =
            switch journal.sync {
            case .always: .always
            case .interval(let interval): .interval(interval)
            case .never: .never
            }
        segmentSize = journal.segmentSize
        queueBytes = journal.queue
        retainTime = journal.retainTime
        retainSize = journal.retainSize
        whenFull =
            switch journal.whenFull {
            case .block: .block
            case .drop_oldest: .dropOldest
            case .reject: .reject
            }
        cursorInterval = journal.cursorInterval
    }
}

extension SourceLimits {
    init(_ source: Configuration.Source) {
        self.init(
            maximumEventSize: source.maximumEventSize, maximumDepth: source.maximumDepth,
            maximumConnections: source.maximumConnections, maximumUnreadAnswers: source.maximumUnreadAnswers,
            maximumConnectionsPerUser: source.maximumConnectionsPerUser,
            maximumConsecutiveRefusals: source.maximumConsecutiveRefusals, maximumBuffered: source.maximumBuffered,
            lineTimeout: source.lineTimeout, idleTimeout: source.idleTimeout)
    }
}

extension DeliveryPolicy {
    package init(_ destination: Configuration.Destination, cursorInterval: Duration) {
        self.init(
            batchEvents: destination.batch.events, batchBytes: destination.batch.bytes,
            batchWait: destination.batch.wait, inFlight: destination.inFlight.upperBound,
            retryInitial: destination.retry.initial, retryMaximum: destination.retry.max,
            giveUpAfter: destination.retry.giveUpAfter, attempts: destination.retry.attempts,
            order: destination.order == .user ? .user : .destination,
            rateLimit: destination.rateLimit.map {
                RateLimit(eventsPerSecond: $0.eventsPerSecond, requestsPerSecond: $0.requestsPerSecond, burst: $0.burst,
                    isPerUser: $0.per == .user)
            }, checkpointInterval: cursorInterval, backfillInFlight: destination.replay.inFlight)
    }
}

extension DeadLetterStore.Limits {
    init(_ letters: Configuration.Destination.DeadLetters) {
        self.init(bytes: letters.size, time: letters.time, dropsOldest: letters.whenFull == .drop_oldest)
    }
}

extension Configuration {
    /// The routes that lead to a destination, in order.
    package func routes(to destination: Destination) -> [DestinationRouter.Route] {
        routes.filter { $0.to.contains(destination.name) }
            .map { DestinationRouter.Route(name: $0.name, filter: $0.filter, transforms: $0.transforms) }
    }
}

extension DestinationRouter {
    /// What decides about a destination's events.
    /// - Parameters:
    ///   - host: the name of this machine.
    ///   - journal: the 16 bytes that identify the journal.
    ///   - marksReplay: set `context.penstock.replay` first of all.
    package convenience init(
        _ destination: Configuration.Destination, in configuration: Configuration, host: String, journal: [UInt8],
        marksReplay: Bool = false, interruption: Interruption? = nil
    ) {
        self.init(
            name: destination.name, displayName: destination.preset?.title,
            pipeline: (marksReplay ? [.replayMark] : []) + configuration.pipeline.map(\.transform),
            routes: configuration.routes(to: destination), filter: destination.filter,
            transforms: destination.transforms,
            mapping: destination.mapping.map {
                MappingSetting($0.mapping, limit: destination.maximumEventSize, secret: $0.secret)
            },
            outputs: destination.outputs.map { output in
                func setting(_ mapping: Configuration.FilledMapping) -> MappingSetting {
                    MappingSetting(mapping.mapping, limit: destination.maximumEventSize, secret: mapping.secret)
                }
                return OutputSetting(setting(output.mapping), envelope: setting(output.envelope), where: output.condition.filter)
            },
            host: host, maximumEventSize: destination.maximumEventSize, journal: journal,
            interruption: interruption)
    }
}

extension FileDestinationOptions {
    package init(_ file: Configuration.File) {
        let compression: Compression =
            switch file.compression {
            case .none: .none
            case .gzip: .gzip
            case .zstd: .zstd
            }
        self.init(
            path: file.path.pieces.map { piece in
                switch piece {
                case .text(let text): .text(text)
                case .value(let path): .value(path)
                }
            }, compression: compression, rotateSize: file.rotateSize, rotateEvery: file.rotateEvery,
            timezone: file.timezone)
        if let columns = file.columns { format = .csv(columns: columns) }
        sync =
            switch file.sync {
            case .always: .always
            case .never: .never
            case .interval, nil: .atCheckpoints
            }
        keep = Keep(files: file.keep.files, time: file.keep.time, size: file.keep.size)
        openFiles = file.openFiles
        newFiles = file.newFiles
    }
}

extension Configuration.Destination {
    /// How often its position is made durable.
    func cursorInterval(in configuration: Configuration) -> Duration {
        if case .file(let file) = kind, case .interval(let interval) = file.sync { interval } else { configuration.journal.cursorInterval }
    }
}

extension StatusReport.Journal {
    init(_ statistics: JournalStatistics) {
        self.init(
            state: statistics.problem == nil ? .ok : statistics.isFull ? .full : .failed, first: statistics.first, next: statistics.next,
            bytes: UInt64(statistics.bytes), segments: statistics.segments,
            damaged: statistics.gaps.reduce(0) { $0.saturatingAdd($1.positions.length) }, lastError: statistics.problem,
            retainBytes: UInt64(clamping: statistics.retainSize),
            retainSeconds: Double(statistics.retainTime.inNanoseconds) / 1e9, whenFull: statistics.whenFull.name,
            removedForSpace: UInt64(clamping: statistics.removedForSpace))
    }
}

extension JournalOptions.WhenFull {
    /// As the configuration has it.
    fileprivate var name: String {
        switch self {
        case .block: Configuration.Journal.WhenFull.block.rawValue
        case .dropOldest: Configuration.Journal.WhenFull.drop_oldest.rawValue
        case .reject: Configuration.Journal.WhenFull.reject.rawValue
        }
    }
}

extension LogSink {
    /// A diagnostic has several lines: the sentence, the line of the file, the caret, the hint.
    func write(_ diagnostic: Diagnostic) {
        let level: Level = diagnostic.severity == .error ? .error : .warning
        for line in diagnostic.description.split(separator: "\n") { write(level, String(line)) }
    }
}

extension Configuration.Destination.Kind {
    /// Who writes the state that is kept with a cursor.
    var owner: String {
        switch self {
        case .file: "file"
        case .http: "http"
        case .plugin(let plugin): "plugin \(plugin.plugin)"
        }
    }
}
