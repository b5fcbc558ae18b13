import PenstockPluginKit

/// One instance of the plugin. All work happens on the host's worker, inside its calls.
final class RedisSink: BlockingSink {
    static let plugin = Plugin(
        name: "redis", version: "1.0", summary: "Appends each event to a Redis stream", schema: RedisSettings.schema,
        needs: "network", keepsPosition: true)

    /// Bounds the memory for a batch's commands, and the time that the server spends on them at once.
    private static let maximumBatchBytes = 8 << 20

    private let host: Host
    private let settings: RedisSettings
    private let address: RedisSettings.Address
    private let writer: EntryWriter
    private let transaction: any StreamTransaction
    /// nil: not connected.
    private var connection: RedisConnection?

    init(settings: RedisSettings, host: Host) throws {
        try settings.validate()
        self.host = host
        self.settings = settings
        address = try settings.parsedAddress()
        writer = try EntryWriter(settings)
        transaction =
            settings.exactlyOnce ?? false
            ? PositionedTransaction(writer, key: settings.positionKey ?? "penstock:position:\(host.destination)", host)
            : PlainTransaction(writer)
    }

    var limits: Limits {
        Limits(maxInFlight: 1, maxBatchEvents: settings.batchEvents ?? 1000, maxBatchBytes: Self.maximumBatchBytes)
    }

    func connect() throws {
        connection = nil
        do {
            let connection = try RedisConnection(address, timeout: settings.wait)
            for command in greeting + transaction.greeting {
                if let error = try connection.ask(command).error { throw error }
            }
            try transaction.begin(on: connection)
            self.connection = connection
        } catch {
            throw problem(error)
        }
    }

    func deliver(_ batch: Batch) throws -> [Outcome] {
        if connection == nil { try connect() }
        guard let connection else { throw SinkError(reason("not connected")) }
        do {
            let results = try transaction.store(batch, on: connection)
            let outcomes = results.map(outcome)
            host.count("redis_entries", by: UInt64(outcomes.count { $0 == .delivered }))
            return outcomes
        } catch {
            self.connection = nil
            throw problem(error)
        }
    }

    /// nil unless settings.exactly_once is set: without it, the host's own cursor counts.
    func durablePosition() -> UInt64? { transaction.position }

    func stop() { connection = nil }

    private var greeting: [[String]] {
        var commands: [[String]] = []
        if let password = settings.password {
            commands.append(["AUTH"] + (settings.username.map { [$0] } ?? []) + [password])
        }
        if let database = settings.database, database > 0 { commands.append(["SELECT", "\(database)"]) }
        return commands + [["PING"]]
    }

    private func outcome(_ result: StoreResult) -> Outcome {
        switch result {
        case .stored: return .delivered
        case .skipped: return .retry(reason: nil, after: .milliseconds(1))
        case .failed(let error):
            if writer.isFault(ofEvent: error) { return .rejected(reason: error.message) }
            if error.kind == .replica { connection = nil }
            return .retry(reason: reason(error.advice))
        }
    }

    private func reason(_ text: String) -> String { "redis at \(settings.address): \(text)" }

    private func problem(_ error: any Error) -> SinkError {
        switch error {
        case let lost as RedisConnectionLost: SinkError(reason(lost.reason))
        case let error as RedisError: SinkError(reason(error.advice))
        default: SinkError(reason("\(error)"))
        }
    }
}
