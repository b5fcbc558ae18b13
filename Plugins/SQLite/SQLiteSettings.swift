import PenstockPluginKit

struct SQLiteSettings: Decodable {
    enum Synchronous: String, Decodable { case full, normal }

    static let schema = """
        {"type": "object", "required": ["path"], "additionalProperties": false, "properties": {
            "path": {"type": "string", "minLength": 1, "format": "path",
                "description": "the database file; it and its directories are created if they are missing"},
            "table": {"type": "string", "minLength": 1, "maxLength": 64,
                "description": "the table's name, in letters, digits and '_'; default: events"},
            "synchronous": {"type": "string", "enum": ["full", "normal"],
                "description": "default: full; normal is faster; events lost in a power cut are delivered again"}}}
        """

    var path: String
    var table: String?
    var synchronous: Synchronous?

    var tableName: String { table ?? "events" }

    /// - Throws: an error that names the invalid setting.
    func validate() throws(SinkError) {
        guard path.hasPrefix("/"), !path.utf8.contains(0) else {
            throw SinkError("settings.path: must be an absolute path, such as /var/lib/penstock/events.db")
        }
        guard Self.isIdentifier(tableName) else {
            throw SinkError(
                """
                settings.table: must be letters, digits and '_', and must not begin with a digit, sqlite_ or penstock_
                """
            )
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
