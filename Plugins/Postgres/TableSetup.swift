import PenstockPluginKit

/// What a connection does before the first batch: it creates missing tables, claims the table for the destination and
/// the journal, and checks that rows can be inserted.
struct TableSetup {
    /// The table as it is in the database.
    struct Ready {
        /// Quoted, with the schema.
        var table: String
        /// The table penstock_position, likewise.
        var positions: String
        /// The type of each column.
        var types: [String]
        /// The last committed position; nil: none yet.
        var position: Int64?
        /// The highest position of a row.
        var highest: Int64?
    }

    /// The key of the advisory lock, of all databases: "penstock" in ASCII.
    private static let lock: Int64 = 0x7065_6E73_746F_636B
    /// How often a table may be created by another process at the same moment.
    private static let attempts = 3

    let connection: Connection
    let settings: PostgresSettings
    let columns: [Column]
    let destination: String
    let journal: String
    let deadline: Deadline

    func run() throws -> Ready {
        guard connection.serverVersion >= 90_500 else {
            throw SinkError("the server is older than PostgreSQL 9.5: use a newer server")
        }
        let milliseconds = settings.statementTimeout.wholeMilliseconds
        try connection.run(
            """
            SET standard_conforming_strings = on; SET client_min_messages = warning;
            SET TimeZone = 'UTC'; SET DateStyle = 'ISO, YMD';
            SET statement_timeout = \(milliseconds); SET idle_in_transaction_session_timeout = \(milliseconds)
            """, until: deadline)
        let schema = try schema()
        try create(in: schema)
        let position = try claim(in: schema)
        let table = SQL.identifier(schema) + "." + SQL.identifier(settings.tableName)
        let ready = Ready(
            table: table, positions: Self.positions(in: schema), types: try types(in: schema), position: position,
            highest: try query("SELECT max(position) FROM \(table)").first?.first?.flatMap { Int64($0) })
        let nulls = columns.map { _ in "NULL::text[]" }
        try connection.run("EXPLAIN " + Self.insertion(ready, columns, from: nulls), until: deadline)
        return ready
    }

    /// - Parameter arrays: an expression for each column, of the type text[].
    static func insertion(_ table: Ready, _ columns: [Column], from arrays: [String]) -> String {
        let names = columns.map { SQL.identifier($0.name) }.joined(separator: ", ")
        let aliases = columns.indices.map { "c\($0)" }
        let values = zip(aliases, table.types).map { "r.\($0)::\($1)" }.joined(separator: ", ")
        return """
            INSERT INTO \(table.table) (\(names)) SELECT \(values)
            FROM unnest(\(arrays.joined(separator: ", "))) AS r(\(aliases.joined(separator: ", ")))
            ON CONFLICT (position, part) DO NOTHING
            """
    }

    private static func positions(in schema: String) -> String { SQL.identifier(schema) + ".penstock_position" }

    private func query(_ sql: String) throws -> [[String?]] {
        try connection.run(sql, until: deadline).last?.rows ?? []
    }

    private func schema() throws -> String {
        if let name = settings.schemaName { return name }
        guard case let name?? = try query("SELECT current_schema()").first?.first else {
            throw SinkError("the search path has no schema: write settings.table: SCHEMA.\(settings.tableName)")
        }
        return name
    }

    /// Creates only missing tables: a role that may insert rows need not be able to create tables.
    private func create(in schema: String) throws {
        let (name, place) = (settings.tableName, SQL.identifier(schema))
        let definitions = columns.map { column in
            "\(SQL.identifier(column.name)) \(column.type.rawValue)\(column.isRequired ? " NOT NULL" : "")"
        }
        let statements = [
            name: "\(definitions.joined(separator: ", ")), PRIMARY KEY (position, part)",
            "penstock_position": """
            table_name text PRIMARY KEY, destination text NOT NULL, journal text NOT NULL, position bigint
            """,
        ]
        for attempt in 1...Self.attempts {
            let present = try query(
                """
                SELECT c.relname FROM pg_catalog.pg_class c JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
                WHERE n.nspname = \(SQL.literal(schema)) AND c.relname IN (\(SQL.literal(name)), 'penstock_position')
                """
            ).map { $0.first }
            let missing = statements.filter { !present.contains($0.key) }.sorted { $0.key < $1.key }
            if missing.isEmpty { return }
            let creations = missing.map {
                "CREATE TABLE IF NOT EXISTS \(place).\(SQL.identifier($0.key)) (\($0.value))"
            }
            do throws(PostgresError) {
                // One message, so one transaction; the lock ends with it.
                try connection.run(
                    "SELECT pg_advisory_xact_lock(\(Self.lock)); " + creations.joined(separator: "; "), until: deadline)
                return
            } catch {
                // Despite IF NOT EXISTS, another process that creates the table without the lock causes an error.
                guard error.isDuplicate || error.state == "42P07", attempt < Self.attempts else { throw error }
            }
        }
    }

    /// A table belongs to one destination and one journal. In a table with rows of another one, an existing row would
    /// not prove that the event is stored.
    /// - Returns: the last committed position.
    private func claim(in schema: String) throws -> Int64? {
        let (name, positions) = (SQL.literal(settings.tableName), Self.positions(in: schema))
        let read = "SELECT destination, journal, position FROM \(positions) WHERE table_name = \(name)"
        var claim = try query(read)
        if claim.isEmpty {
            claim = try query(
                """
                INSERT INTO \(positions) (table_name, destination, journal)
                VALUES (\(name), \(SQL.literal(destination)), \(SQL.literal(journal)))
                ON CONFLICT (table_name) DO NOTHING; \(read)
                """)
        }
        guard let owner = claim.first, owner[0] == destination, owner[1] == journal else {
            let whose = claim.first?[0] == destination ? "another journal" : "destination \(claim.first?[0] ?? "?")"
            throw SinkError("the table \(settings.tableName) holds the events of \(whose): set another table")
        }
        return owner[2].flatMap { Int64($0) }
    }

    private func types(in schema: String) throws -> [String] {
        let found = try query(
            """
            SELECT a.attname, pg_catalog.format_type(a.atttypid, -1) FROM pg_catalog.pg_attribute a
            JOIN pg_catalog.pg_class c ON c.oid = a.attrelid JOIN pg_catalog.pg_namespace n ON n.oid = c.relnamespace
            WHERE n.nspname = \(SQL.literal(schema)) AND c.relname = \(SQL.literal(settings.tableName))
            AND a.attnum > 0 AND NOT a.attisdropped
            """)
        return try columns.map { column in
            guard let row = found.first(where: { $0[0] == column.name }), let type = row[1] else {
                throw SinkError(
                    """
                    the table \(settings.tableName) has no column \(column.name): set another table, or add the \
                    column: ALTER TABLE \(settings.table ?? settings.tableName) ADD COLUMN \(column.name) \
                    \(column.type.rawValue)
                    """)
            }
            return type
        }
    }
}
