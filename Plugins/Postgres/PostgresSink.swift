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
    /// The last position that this instance has seen in the database.
    private var position: Int64?
    /// The stored position was higher before. The host must open the destination again, and start from there.
    private var wentBack: String?

    init(settings: PostgresSettings, host: Host) throws {
        try settings.validate()
        columns = try settings.allColumns()
        string = try ConnectionString(settings.dsn)
        self.host = host
        self.settings = settings
    }

    func connect() throws {
        table = nil
        let start = Deadline.after(milliseconds: Int64(settings.statementSeconds) * 1000)
        let connection = try Connection(string, timeout: settings.connect_timeout)
        // Also after a long search among the server's addresses.
        let least = Deadline.after(milliseconds: 5000)
        do {
            let table = try EventTable(
                TableSetup(
                    connection: connection, settings: settings, columns: columns, destination: host.destination,
                    journal: host.journal,
                    deadline: start.nanoseconds > least.nanoseconds ? start : least))
            if let position, table.position ?? -1 < position {
                wentBack = """
                    the position in penstock_position went back from \(position) to \
                    \(table.position.map { "\($0)" } ?? "none"), as after a restore or a failover: later events are \
                    delivered again
                    """
            } else {
                position = table.position
            }
            self.table = table
        } catch let error as PostgresError {
            throw SinkError("PostgreSQL: \(error.message)")
        }
    }

    func deliver(_ batch: Batch) throws -> [Outcome] {
        guard let table else { throw SinkError("PostgreSQL: not connected") }
        // An eighth of the host's deadline is left to report the outcomes.
        let now = Deadline.now.nanoseconds
        let deadline = Deadline(
            nanoseconds: min(
                now + (batch.deadline - now) / 8 * 7, now + Int64(settings.statementSeconds) * 1_000_000_000))
        do throws(PostgresError) {
            // While the position is too low, it must not move: that would hide the missing rows.
            let committed = try table.write(batch, until: deadline) { committed in
                wentBack == nil ? position(after: batch, committed) : nil
            }
            if wentBack == nil { position = table.position }
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

    /// Every batch is committed before it is reported as delivered.
    func flush() throws { if let wentBack { throw SinkError("PostgreSQL: \(wentBack)") } }

    func durablePosition() throws -> UInt64? {
        if let wentBack { throw SinkError("PostgreSQL: \(wentBack)") }
        return position.flatMap { UInt64(exactly: $0) }
    }

    func stop() { table = nil }

    /// The new position: the last event's, but never past an event that is not in the table. The host holds rejected
    /// events durably only once it offers the next batch.
    private func position(after batch: Batch, _ committed: EventTable.Committed) -> Int64? {
        guard let first = committed.untried.union(committed.rejected.keys).min() else {
            return Int64(exactly: batch.lastPosition)
        }
        let missing = batch[first].position
        return missing == 0 ? nil : Int64(exactly: missing - 1)
    }
}
