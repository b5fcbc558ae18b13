import PenstockPluginKit

/// The table of events in one database, and the position up to which the table is complete. Both change in the same
/// transaction, so they always agree.
///
/// A batch is written in one of two ways:
/// - COPY into the table, if its events are later than every row. It is one message and its answer. An event that
///   PostgreSQL rejects makes the whole batch fail.
/// - INSERT … ON CONFLICT DO NOTHING, if rows may be there already (a replay, a retry), or if COPY has failed. It finds
///   the events that PostgreSQL rejects: see `RowSeparation`.
final class EventTable {
    /// The result of a batch: all events are committed, except those named here.
    struct Committed {
        /// The reason for each rejected event, by index in the batch.
        var rejected: [Int: String] = [:]
        /// The events that were not tried, by index: time ran out.
        var untried: Set<Int> = []
        /// The number of new rows.
        var inserted = 0
    }

    private let connection: Connection
    private let encoder: EventEncoder
    private let copy: String
    private let insertion: String
    private let positions: String
    private let name: String
    /// No row has a higher position.
    private var highest: Int64?
    /// The last committed position; nil: none yet.
    private(set) var position: Int64?

    init(_ setup: TableSetup) throws {
        connection = setup.connection
        encoder = EventEncoder(
            setup.columns, replacesNullCharacters: setup.settings.nullCharacters == .replace)
        let ready = try setup.run()
        let names = setup.columns.map { SQL.identifier($0.name) }.joined(separator: ", ")
        copy = "COPY \(ready.table) (\(names)) FROM STDIN"
        insertion = TableSetup.insertion(ready, setup.columns, from: setup.columns.indices.map { "$\($0 + 1)" })
        positions = ready.positions
        name = SQL.literal(setup.settings.tableName)
        highest = ready.highest
        position = ready.position
    }

    /// Writes the batch's events, except those already present, and commits them together with the position.
    /// - Parameters:
    ///   - deadline: for the whole batch.
    ///   - position: returns the position up to which the table is then complete; nil: keep the old position.
    func write(
        _ batch: Batch, until deadline: Deadline, position: (Committed) -> Int64?
    ) throws(PostgresError) -> Committed {
        let (rows, rejected) = encoder.encode(batch)
        var committed = Committed(rejected: rejected)
        let last = Int64(clamping: batch.lastPosition)
        if rejected.isEmpty, highest.map({ batch.firstPosition > UInt64(clamping: $0) }) ?? true {
            do throws(PostgresError) {
                let next = position(committed)
                let statements = (next.map { [recording($0)] } ?? []) + [copy]
                let results = try connection.run(
                    statements.joined(separator: "; "), copying: rows.copyText(), until: deadline)
                if next != nil, results.first?.affected != 1 { throw claimIsGone }
                committed.inserted = rows.count
                noteCommit(next, last)
                return committed
            } catch {
                guard error.kind == .row else { throw error }
            }
        }
        do throws(PostgresError) {
            // An error of a deferred constraint belongs to a row, not to the commit.
            try connection.run(
                """
                BEGIN; SET CONSTRAINTS ALL IMMEDIATE;
                SELECT FROM \(positions) WHERE table_name = \(name) FOR UPDATE
                """, until: deadline)
            var separation = RowSeparation(connection, rows, insertion: insertion, copy: copy)
            try separation.run(until: deadline)
            committed.rejected.merge(separation.rejected) { $1 }
            committed.untried = separation.untried
            committed.inserted = separation.inserted
            let next = position(committed)
            let end = (next.map { [recording($0)] } ?? []) + ["COMMIT"]
            let results = try connection.run(end.joined(separator: "; "), until: deadline)
            if next != nil, results.first?.affected != 1 { throw claimIsGone }
            noteCommit(next, last)
            return committed
        } catch {
            // If this fails, too, the next batch reports it.
            if connection.isInTransaction { _ = try? connection.run("ROLLBACK", until: deadline) }
            throw error
        }
    }

    private func noteCommit(_ position: Int64?, _ last: Int64) {
        highest = max(highest ?? last, last)
        if let position { self.position = max(self.position ?? position, position) }
    }

    /// `greatest` ignores NULL.
    private func recording(_ position: Int64) -> String {
        "UPDATE \(positions) SET position = greatest(position, \(position)) WHERE table_name = \(name)"
    }

    private var claimIsGone: PostgresError {
        PostgresError(state: nil, message: "the table's row in penstock_position was deleted; it is made again")
    }
}
