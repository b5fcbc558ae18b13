import DaemonConfiguration
import Delivery
import Destinations
import Events
import Ingest
import Journal
import Routing

// Translates the configuration's values to the options of the other rooms, which do not know the configuration.

extension JournalOptions {
    /// - Parameter processors: those that this process may use.
    package init(_ journal: Configuration.Journal, processors: Double = 1) {
        self.init()
        self.processors = processors
        sync =
            switch journal.sync {
            case .always: .always
            case .interval(let interval): .interval(interval)
            case .never: .never
            }
        segmentSize = journal.segmentSize
        memoryBytes = journal.memory
        queueBytes = journal.queue
        commitDelay = journal.commitDelay
        readerWait = journal.readerWait
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
    package init(_ source: Configuration.Source) {
        self.init(
            maximumEventSize: source.maximumEventSize, maximumDepth: source.maximumDepth,
            maximumConnections: source.maximumConnections, maximumUnreadAnswers: source.maximumUnreadAnswers,
            maximumConnectionsPerUser: source.maximumConnectionsPerUser,
            maximumConsecutiveRefusals: source.maximumConsecutiveRefusals, maximumBuffered: source.maximumBuffered,
            lineTimeout: source.lineTimeout, idleTimeout: source.idleTimeout,
            rateLimit: ClientRateLimit(source.rateLimit),
            repairs: EventRepairs(source), keepsConnections: source.keepsConnections)
    }
}

extension ClientRateLimit {
    fileprivate init?(_ limit: Configuration.RateLimit) {
        guard let rate = limit.eventsPerSecond else { return nil }
        let scope: Scope =
            switch limit.per {
            case .uid: .user
            case .connection: .connection
            case .write_key: .writeKey
            }
        self.init(per: scope, eventsPerSecond: rate, burst: limit.burst ?? rate)
    }
}

extension HTTPAccess {
    /// - Parameter overTCP: for clients that the kernel does not name, so that only a write key does.
    package init(_ source: Configuration.Source, overTCP: Bool) {
        self.init()
        switch source.allowedOrigins {
        case nil: allowedOrigins = []
        case .any: allowedOrigins = nil
        case .only(let origins): allowedOrigins = Set(origins)
        }
        writeKeys = source.writeKeys.map { Array($0.plain.utf8) }
        requiresWriteKey = overTCP
        isEncrypted = overTCP && source.http?.tls != nil
        limits.maximumHead = source.httpLimits.requestHead
        limits.maximumBody = source.httpLimits.batchSize
        limits.maximumEvents = source.httpLimits.batchEvents
        limits.maximumRatio = source.httpLimits.decompressionRatio
        limits.maximumWait = source.httpLimits.wait
    }
}

extension Deduplication.Options {
    package init(_ dedupe: Configuration.Deduplication) {
        self.init(window: dedupe.window, memory: dedupe.maximumMemory)
    }
}

extension EventRepairs {
    package init(_ source: Configuration.Source) {
        self = []
        if source.ids == .lenient { insert(.numericIDs) }
        if source.invalidText == .replace { insert(.loneSurrogates) }
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
                RateLimit(
                    eventsPerSecond: $0.eventsPerSecond, requestsPerSecond: $0.requestsPerSecond, burst: $0.burst,
                    isPerUser: $0.per == .user)
            }, checkpointInterval: cursorInterval, backfillInFlight: destination.replay.inFlight)
    }
}

extension DeadLetterStore.Limits {
    package init(_ letters: Configuration.Destination.DeadLetters) {
        self.init(bytes: letters.size, time: letters.time, dropsOldest: letters.whenFull == .drop_oldest)
    }
}

extension Configuration {
    /// The routes to a destination, in order.
    package func routes(to destination: Destination) -> [DestinationRouter.Route] {
        routes.filter { $0.to.contains(destination.name) }
            .map { DestinationRouter.Route(name: $0.name, filter: $0.filter, transforms: $0.transforms) }
    }
}

extension DestinationRouter {
    /// The router of a destination's events.
    /// - Parameters:
    ///   - host: the name of this machine.
    ///   - journal: the 16 bytes that identify the journal.
    ///   - userNames: for `context.penstock.peer.user`.
    ///   - marksReplay: set `context.penstock.replay` before all other transforms.
    package convenience init(
        _ destination: Configuration.Destination, in configuration: Configuration, host: String, journal: [UInt8],
        userNames: @escaping UserNames = { _ in nil }, marksReplay: Bool = false, interruption: Interruption? = nil
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
                return OutputSetting(
                    setting(output.mapping), envelope: setting(output.envelope), where: output.condition.filter,
                    isAdditional: output.isAdditional)
            },
            host: host, maximumEventSize: destination.maximumEventSize, journal: journal,
            userNames: userNames, interruption: interruption)
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
    /// How often the destination's cursor is made durable.
    package func cursorInterval(in configuration: Configuration) -> Duration {
        if case .file(let file) = kind, case .interval(let interval) = file.sync {
            interval
        } else {
            configuration.journal.cursorInterval
        }
    }
}

extension Configuration.Destination {
    /// Texts that may be in what the destination gets and must not be shown: each secret as it is, and as the contents
    /// of a JSON string.
    package var secretsOfOutput: [[UInt8]] {
        var texts = mapping?.secretValues ?? []
        for output in outputs { texts += output.mapping.secretValues + output.envelope.secretValues }
        if case .http(let http) = kind { texts += http.secrets }
        var secrets: Set<[UInt8]> = []
        for text in texts where !text.isEmpty {
            secrets.insert(Array(text.utf8))
            var contents: [UInt8] = []
            JSONText.appendContents(text.utf8.span, to: &contents)
            secrets.insert(contents)
        }
        return Array(secrets)
    }
}

extension Configuration.Destination.Kind {
    /// The owner of the state that is stored with a cursor.
    package var owner: String {
        switch self {
        case .file: "file"
        case .http: "http"
        case .plugin(let plugin): "plugin \(plugin.plugin)"
        }
    }
}
