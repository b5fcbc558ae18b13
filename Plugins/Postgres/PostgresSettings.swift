import PenstockPluginKit

struct PostgresSettings: Decodable {
    enum NullCharacters: String, Decodable { case reject, replace }

    static let schema = """
        {"type": "object", "required": ["dsn"], "additionalProperties": false, "properties": {
            "dsn": {"type": "string", "minLength": 1,
                "description": "the database: a libpq URI or connection string, such as \
        postgresql://penstock@db.example.com/analytics; a password belongs in a secret"},
            "table": {"type": "string", "minLength": 1, "maxLength": 127,
                "description": "the table, TABLE or SCHEMA.TABLE, in lower-case letters, digits and '_'; default: \
        events"},
            "columns": {"type": "array", "description": "the columns beside position, part and received_at; default: \
        the common fields of an event",
                "items": {"type": "object", "required": ["name", "path"], "additionalProperties": false, "properties": {
                    "name": {"type": "string", "minLength": 1, "maxLength": 63,
                        "description": "the column's name, in lower-case letters, digits and '_'"},
                    "path": {"type": "string", "minLength": 1,
                        "description": "where its value is in the event, such as properties.total; $ is the event"},
                    "type": {"type": "string", "enum": ["text", "bigint", "integer", "numeric", "double precision",
                        "boolean", "date", "timestamptz", "uuid", "jsonb"], "description": "default: text"}}}},
            "null_characters": {"type": "string", "enum": ["reject", "replace"],
                "description": "U+0000, which PostgreSQL cannot store: reject the event, or replace each with U+FFFD; \
        default: reject"},
            "connect_timeout": {"type": "string",
                "description": "for each address of the server, in whole seconds; default: 10s"},
            "timeout": {"type": "string",
                "description": "for one statement, including waits for locks; keep it below the destination's \
        deadline; default: 20s"}}}
        """

    private enum CodingKeys: String, CodingKey {
        case dsn, table, columns, timeout
        case nullCharacters = "null_characters"
        case connectTimeout = "connect_timeout"
    }

    /// The most columns that the settings may name.
    static let maximumColumns = 250

    var dsn: String
    var table: String?
    var columns: [Column.Specification]?
    var nullCharacters: NullCharacters?
    var connectTimeout: DurationSetting?
    var timeout: DurationSetting?

    var statementTimeout: Duration { timeout?.duration ?? .seconds(20) }

    /// The table without its schema.
    var tableName: String { table.map { String($0.split(separator: ".").last ?? "") } ?? "events" }
    /// nil: the first schema of the search path.
    var schemaName: String? {
        guard let table, let dot = table.firstIndex(of: ".") else { return nil }
        return String(table[..<dot])
    }

    /// - Throws: an error that names the invalid setting.
    func validate() throws(SinkError) {
        let names = (table ?? "events").split(separator: ".", omittingEmptySubsequences: false)
        guard names.count <= 2, names.allSatisfy({ SQL.isIdentifier($0) }) else {
            throw SinkError("settings.table: TABLE or SCHEMA.TABLE; each name \(SQL.identifierRule)")
        }
        guard !tableName.hasPrefix("penstock_"), !tableName.hasPrefix("pg_") else {
            throw SinkError("settings.table: names that begin with penstock_ or pg_ are reserved: write another name")
        }
        try connectTimeout?.check("connect_timeout", .seconds(2)...(.seconds(300)))
        try timeout?.check("timeout", .seconds(1)...(.seconds(3600)))
    }

    /// All columns of the table, in order.
    func allColumns() throws(SinkError) -> [Column] {
        guard let columns else { return Column.standard }
        guard 1...Self.maximumColumns ~= columns.count else {
            throw SinkError(
                "settings.columns: must have 1 to \(Self.maximumColumns) columns; leave it out for the default columns")
        }
        var all = Column.fixed
        for (index, specification) in columns.enumerated() {
            let column = try Column(specification, index: index)
            guard !all.contains(where: { $0.name == column.name }) else {
                throw SinkError("settings.columns[\(index)].name: \(column.name) is there twice: write another name")
            }
            all.append(column)
        }
        return all
    }
}
