import CSQLite
import PenstockPluginKit

/// The table of events in one database, and the position up to which the table is complete. Both change in the same
/// transaction, so they always agree.
///
/// The fields that people query most are columns. `properties`, `traits` and `context` are JSON, and `rest` holds all
/// other fields of the event. SQLite itself parses the event (sqlite.org/json1.html).
final class EventTable {
    /// The result of a batch: all events are committed, except the rejected ones.
    struct Committed {
        /// The reason for each rejected event, by index in the batch.
        var rejected: [Int: String] = [:]
    }

    /// Milliseconds. If another process holds the lock for longer, the host retries.
    private static let busyTimeout: Int32 = 1000

    private let database: Database
    private let name: String
    private let insert: Statement
    private let isJSON: Statement
    private let readPosition: Statement
    private let writePosition: Statement

    /// Opens the database and creates missing tables.
    /// - Parameters:
    ///   - destination: the destination that owns the table.
    ///   - journal: the id of the journal that positions refer to.
    init(_ settings: SQLiteSettings, destination: String, journal: String) throws(SQLiteError) {
        database = try Database(path: settings.path, busyTimeout: Self.busyTimeout)
        try database.execute("PRAGMA journal_mode = WAL")
        try database.execute("PRAGMA synchronous = \((settings.synchronous ?? .full).rawValue.uppercased())")
        let table = "\"\(settings.tableName)\""
        try database.execute(
            """
            CREATE TABLE IF NOT EXISTS \(table) (
                position INTEGER NOT NULL, message_id TEXT, kind TEXT NOT NULL, event TEXT,
                user_id TEXT, anonymous_id TEXT, timestamp TEXT NOT NULL, received_at TEXT NOT NULL,
                properties TEXT, traits TEXT, context TEXT, rest TEXT,
                part INTEGER NOT NULL, PRIMARY KEY (position, part));
            CREATE TABLE IF NOT EXISTS penstock_position (
                table_name TEXT PRIMARY KEY COLLATE NOCASE, destination TEXT NOT NULL, journal TEXT NOT NULL,
                position INTEGER);
            """)
        try Self.claim(settings.tableName, of: database, for: destination, journal)
        insert = try database.prepare(Self.insertion(into: table))
        isJSON = try database.prepare("SELECT json_valid(?1)")
        readPosition = try database.prepare(
            "SELECT position FROM penstock_position WHERE table_name = ?1 AND position IS NOT NULL")
        writePosition = try database.prepare(
            "UPDATE penstock_position SET position = max(ifnull(position, ?2), ?2) WHERE table_name = ?1")
        name = settings.tableName
    }

    /// The last committed position; nil: none yet.
    func position() throws(SQLiteError) -> Int64? {
        defer { readPosition.reset() }
        try readPosition.bind(1, name)
        return try readPosition.step() ? readPosition.integer(0) : nil
    }

    /// Inserts the batch's events, except those already present, and commits them together with the position: all or
    /// nothing.
    /// - Parameter position: returns the position up to which the table is then complete, given the rejected events;
    ///   nil: keep the old position.
    func write(_ batch: Batch, position: (Committed) -> Int64?) throws(SQLiteError) -> Committed {
        var committed = Committed()
        try database.execute("BEGIN IMMEDIATE")
        do throws(SQLiteError) {
            for (index, event) in batch.enumerated() {
                if let reason = try add(event) { committed.rejected[index] = reason }
            }
            if let position = position(committed) { try record(position) }
            try database.execute("COMMIT")
        } catch {
            // Some errors roll back by themselves.
            if database.isInTransaction { try? database.execute("ROLLBACK") }
            throw error
        }
        return committed
    }

    /// - Returns: why the event can never be stored; nil: it is stored.
    private func add(_ event: Event) throws(SQLiteError) -> String? {
        guard let position = Int64(exactly: event.position) else {
            return "its position is larger than SQLite's integers"
        }
        let (seconds, nanoseconds) = event.receivedAt.quotientAndRemainder(dividingBy: 1_000_000_000)
        defer { insert.reset() }
        do throws(SQLiteError) {
            try insert.bind(1, position)
            unsafe try event.withUnsafePayload { payload throws(SQLiteError) in
                unsafe try event.withUnsafeMessageID { id throws(SQLiteError) in
                    unsafe try insert.bind(2, borrowing: payload)
                    unsafe try insert.bind(3, borrowing: id)
                    try insert.bind(4, event.kindName)
                    try insert.bind(5, seconds)
                    try insert.bind(6, nanoseconds / 1_000_000)
                    try insert.bind(7, Int64(event.part))
                    for (parameter, text) in unsafe TextWithNUL.find(in: payload) { try insert.bind(parameter, text) }
                    try insert.step()
                }
            }
            return nil
        } catch {
            // "Malformed JSON" has the same code as all other errors of a statement, such as a dropped table. Only
            // malformed JSON is the event's fault.
            var blamesEvent = error.blamesRow
            if error.primary == SQLITE_ERROR { blamesEvent = try !isValidJSON(event) }
            guard blamesEvent, database.isInTransaction else { throw error }
            return error.message
        }
    }

    private func isValidJSON(_ event: Event) throws(SQLiteError) -> Bool {
        defer { isJSON.reset() }
        return unsafe try event.withUnsafePayload { payload throws(SQLiteError) in
            unsafe try isJSON.bind(1, borrowing: payload)
            return try isJSON.step() && isJSON.integer(0) == 1
        }
    }

    private func record(_ position: Int64) throws(SQLiteError) {
        defer { writePosition.reset() }
        try writePosition.bind(1, name)
        try writePosition.bind(2, position)
        try writePosition.step()
    }

    /// A table belongs to one destination and one journal. In a table with rows of another one, an existing row would
    /// not prove that the event is stored.
    private static func claim(
        _ table: String, of database: Database, for destination: String, _ journal: String
    ) throws(SQLiteError) {
        let claim = try database.prepare(
            """
            INSERT INTO penstock_position (table_name, destination, journal) VALUES (?1, ?2, ?3)
            ON CONFLICT (table_name) DO NOTHING
            """)
        try claim.bind(1, table)
        try claim.bind(2, destination)
        try claim.bind(3, journal)
        try claim.step()
        let owner = try database.prepare("SELECT destination, journal FROM penstock_position WHERE table_name = ?1")
        try owner.bind(1, table)
        guard try owner.step(), owner.text(0) == destination, owner.text(1) == journal else {
            let whose = owner.text(0) == destination ? "another journal" : "destination \(owner.text(0) ?? "?")"
            throw SQLiteError(
                code: SQLITE_MISMATCH,
                message: "the table \(table) holds the events of \(whose): set another table or path")
        }
    }

    /// ?1 position, ?2 payload, ?3 message id, ?4 kind, ?5 and ?6 receive time in seconds and milliseconds, ?7 part;
    /// ?8 to ?11: see `TextWithNUL`.
    private static func insertion(into table: String) -> String {
        """
        INSERT INTO \(table) (position, part, message_id, kind, event, user_id, anonymous_id, timestamp, received_at,
            properties, traits, context, rest)
        SELECT ?1, ?7, coalesce(?8, ?2 ->> '$.messageId', ?3), ?4, coalesce(?9, ?2 ->> '$.event'),
            coalesce(?10, ?2 ->> '$.userId'), coalesce(?11, ?2 ->> '$.anonymousId'),
            coalesce(?2 ->> '$.timestamp', received.at), received.at,
            nullif(?2 -> '$.properties', 'null'), nullif(?2 -> '$.traits', 'null'), nullif(?2 -> '$.context', 'null'),
            nullif(json_remove(?2, '$.type', '$.messageId', '$.event', '$.userId', '$.anonymousId', '$.timestamp',
                '$.properties', '$.traits', '$.context'), '{}')
        FROM (SELECT strftime('%Y-%m-%dT%H:%M:%S', ?5, 'unixepoch') || printf('.%03dZ', ?6) AS at) AS received
        WHERE true
        ON CONFLICT (position, part) DO NOTHING
        """
    }
}
