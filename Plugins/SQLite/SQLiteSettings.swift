/// The plugin's settings: JSON from the host that matches the schema. SQLite parses it.
struct SQLiteSettings {
    static let schema: StaticString = """
        {"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
            "path": {"type": "string", "minLength": 1, "format": "path",
                "description": "the database file; it and its directories are created if they are missing"},
            "table": {"type": "string", "minLength": 1, "maxLength": 64,
                "description": "the table's name, in letters, digits and '_'; default: events"},
            "synchronous": {"type": "string", "enum": ["full", "normal"],
                "description": "default: full; normal is faster; events lost in a power cut are delivered again"}}}
        """

    let path: String
    let table: String
    let synchronous: String

    /// - Throws: an error that names the invalid setting.
    init(json: String) throws(SinkError) {
        let row: Statement
        do throws(SQLiteError) {
            row = try Database(path: ":memory:", busyTimeout: 0).prepare(
                "SELECT ?1 ->> '$.path', coalesce(?1 ->> '$.table', 'events'), coalesce(?1 ->> '$.synchronous', 'full')"
            )
            try row.bind(1, json)
            _ = try row.step()
        } catch {
            throw SinkError(message: "cannot read the settings: \(error.message)")
        }
        path = row.text(0) ?? ""
        table = row.text(1) ?? ""
        synchronous = row.text(2) ?? ""
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw SinkError(message: "settings.path: must be an absolute path, such as /var/lib/penstock/events.db")
        }
        guard Self.isIdentifier(table) else {
            throw SinkError(
                message:
                    "settings.table: must be letters, digits and '_', and must not begin with a digit, sqlite_"
                    + " or penstock_"
            )
        }
        guard synchronous == "full" || synchronous == "normal" else {
            throw SinkError(message: "settings.synchronous: must be full or normal")
        }
    }

    /// Whether a name can be put into SQL without quoting problems.
    private static func isIdentifier(_ name: String) -> Bool {
        guard let first = name.utf8.first, !(UInt8(ascii: "0")...UInt8(ascii: "9")).contains(first) else {
            return false
        }
        let lower = name.lowercased()
        return !lower.hasPrefix("sqlite_") && !lower.hasPrefix("penstock_")
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                    UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}

struct SinkError: Error {
    var message: String
}
