import PenstockPluginKit

/// One instance of the plugin. All work happens on the host's worker, inside its calls.
final class PostgresSink: BlockingSink {
    static let plugin = Plugin(
        name: "postgres", version: "1.0", summary: "Writes each event to a row of a PostgreSQL table, exactly once",
        schema: PostgresSettings.schema, needs: "network", keepsPosition: true)

    /// They bound the memory of a batch, and the time to find rejected events in it.
    let limits = Limits(maxBatchEvents: 10_000, maxBatchBytes: 16 << 20)

    private let host: Host
    private let settings: PostgresSettings
    private let columns: [Column]
    private let string: ConnectionString
    /// nil: not connected.
    private var table: EventTable?

    init(settings: PostgresSettings, host: Host) throws {
        try settings.validate()
        columns = try settings.allColumns()
        string = try ConnectionString(settings.dsn)
        self.host = host
        self.settings = settings
    }

    func connect() throws {
        table = nil
        let deadline = Deadline.after(settings.statementTimeout)
        let connection = try Connection(string, timeout: settings.connectTimeout?.duration)
        do {
            table = try EventTable(
                TableSetup(
                    connection: connection, settings: settings, columns: columns, destination: host.destination,
                    journal: host.journal,
                    // Some time is left also after a long search among the server's addresses.
                    deadline: .after(max(deadline.timeLeft, .seconds(5)))))
        } catch let error as PostgresError {
            throw SinkError("PostgreSQL: \(error.message)")
        }
    }

    func deliver(_ batch: Batch) throws -> [Outcome] {
        guard let table else { throw SinkError("PostgreSQL: not connected") }
        // An eighth of the host's deadline is left to report the outcomes.
        let deadline = Deadline.after(min(batch.timeLeft / 8 * 7, settings.statementTimeout))
        do throws(PostgresError) {
            let committed = try table.write(batch, until: deadline) { committed in
                batch.completePosition(before: committed.untried.union(committed.rejected.keys).min()).flatMap {
                    Int64(exactly: $0)
                }
            }
            host.count("postgres_events", by: UInt64(clamping: committed.inserted))
            return batch.indices.map { index in
                if let reason = committed.rejected[index] { return .rejected(reason: reason) }
                return committed.untried.contains(index)
                    ? .retry(reason: "PostgreSQL: too many rejected events for one batch's time") : .delivered
            }
        } catch {
            let reason = "PostgreSQL: \(error.message)"
            guard error.kind != .connection else {
                self.table = nil
                throw SinkError(reason)
            }
            return batch.map { _ in .retry(reason: reason) }
        }
    }

    // No flush: every batch is committed before it is reported as delivered.

    func durablePosition() throws -> UInt64? {
        guard let table else { throw SinkError("PostgreSQL: not connected") }
        return table.position.flatMap { UInt64(exactly: $0) }
    }

    func stop() { table = nil }
}
