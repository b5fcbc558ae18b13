import PenstockPluginKit

/// One instance of the plugin. All work happens on the host's worker, inside its calls.
final class RedisSink: BlockingSink {
    static let plugin = Plugin(
        name: "redis", version: "1.0", summary: "Appends each event to a Redis stream", schema: RedisSettings.schema,
        needs: "network")

    /// Bounds the memory for a batch's commands, and the time that the server spends on them at once.
    private static let maximumBatchBytes = 8 << 20

    private let host: Host
    private let settings: RedisSettings
    private let address: RedisSettings.Address
    private let writer: EntryWriter
    private var request = RedisRequest()
    /// nil: not connected.
    private var connection: RedisConnection?

    init(settings: RedisSettings, host: Host) throws {
        try settings.validate()
        self.host = host
        self.settings = settings
        address = try settings.parsedAddress()
        writer = try EntryWriter(settings)
    }

    var limits: Limits {
        Limits(maxInFlight: 1, maxBatchEvents: settings.batchEvents, maxBatchBytes: Self.maximumBatchBytes)
    }

    func connect() throws {
        connection = nil
        do {
            let connection = try RedisConnection(address, timeout: settings.seconds)
            for command in greeting {
                if let error = try connection.ask(command).error { throw problem(error.advice) }
            }
            self.connection = connection
        } catch let lost as RedisConnectionLost {
            throw problem(lost.reason)
        }
    }

    func deliver(_ batch: Batch) throws -> [Outcome] {
        if connection == nil { try connect() }
        guard let connection else { throw problem("not connected") }
        request.removeAll()
        request.command(["MULTI"])
        for event in batch { writer.append(event, to: &request) }
        request.command(["EXEC"])
        do throws(RedisConnectionLost) {
            try connection.send(request)
            _ = try connection.reply()
            var queued: [RedisError?] = []
            for _ in batch { queued.append(try connection.reply().error) }
            return outcomes(queued, try connection.reply())
        } catch {
            self.connection = nil
            throw problem(error.reason)
        }
    }

    func stop() { connection = nil }

    /// The commands that a new connection begins with. MULTI and DISCARD prove that transactions work: where MULTI
    /// failed, the commands after it would be executed one by one.
    private var greeting: [[String]] {
        var commands: [[String]] = []
        if let password = settings.password {
            commands.append(["AUTH"] + (settings.username.map { [$0] } ?? []) + [password])
        }
        if let database = settings.database, database > 0 { commands.append(["SELECT", "\(database)"]) }
        return commands + [["PING"], ["MULTI"], ["DISCARD"]]
    }

    /// - Parameters:
    ///   - queued: the error of each command that the server did not accept into the transaction. If there is one, the
    ///     server has executed none of them.
    ///   - executed: EXEC's reply.
    private func outcomes(_ queued: [RedisError?], _ executed: RedisReply) -> [Outcome] {
        let refused = queued.compactMap(\.self)
        if let worst = refused.first(where: { !isFault(ofEvent: $0) }) { return retry(queued.count, worst) }
        if !refused.isEmpty {
            // The others are stored in the next transaction, without these.
            return queued.map { $0.map { .rejected(reason: $0.message) } ?? .retry(reason: nil, after: .milliseconds(1)) }
        }
        switch executed {
        case .array(let replies):
            let outcomes = replies.map { reply in reply.error.map(outcome) ?? .delivered }
            host.count("redis_entries", by: UInt64(outcomes.count { $0 == .delivered }))
            return outcomes
        case .error(let error): return retry(queued.count, error)
        case .text, .integer, .null: return retry(queued.count, RedisError(message: "EXEC has an unexpected reply"))
        }
    }

    private func outcome(_ error: RedisError) -> Outcome {
        if isFault(ofEvent: error) { return .rejected(reason: error.message) }
        if error.kind == .replica { connection = nil }
        return .retry(reason: reason(error.advice))
    }

    /// Nothing was stored.
    private func retry(_ count: Int, _ error: RedisError) -> [Outcome] {
        if error.kind == .replica { connection = nil }
        return Array(repeating: .retry(reason: reason(error.advice)), count: count)
    }

    /// Whether the event's own key is at fault. A fixed key is the operator's fault, and holds back all events.
    private func isFault(ofEvent error: RedisError) -> Bool { error.kind == .key && !writer.hasOneStream }

    private func reason(_ text: String) -> String { "redis at \(settings.address): \(text)" }

    private func problem(_ text: String) -> SinkError { SinkError(reason(text)) }
}
