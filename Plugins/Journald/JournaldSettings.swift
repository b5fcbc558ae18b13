import EventTemplates
import Events
import PenstockPluginKit

struct JournaldSettings: Decodable {
    /// In the order of syslog's numbers.
    enum Priority: String, Decodable, CaseIterable { case emerg, alert, crit, err, warning, notice, info, debug }

    static let schema = """
        {"type": "object", "additionalProperties": false, "properties": {
            "identifier": {"type": "string", "minLength": 1, "maxLength": 256,
                "description": "SYSLOG_IDENTIFIER of the entries; default: penstock"},
            "priority": {"type": "string",
                "enum": ["emerg", "alert", "crit", "err", "warning", "notice", "info", "debug"],
                "description": "PRIORITY of the entries; default: info"},
            "fields": {"type": "object",
                "description": "more fields: for each name, a path in the event, such as properties.order_id"},
            "payload": {"type": "boolean",
                "description": "whether an entry has the whole event as PAYLOAD; default: false"}}}
        """

    /// The most settings.fields. journald ignores an entry with more than 1024 fields.
    private static let maximumFields = 100

    var identifier: String?
    var priority: Priority?
    var fields: [String: String]?
    var payload: Bool?

    var priorityNumber: Int { Priority.allCases.firstIndex(of: priority ?? .info) ?? 6 }

    /// The names of settings.fields, sorted, and their paths.
    /// - Throws: an error that names the setting.
    func validatedFields() throws(SinkError) -> [(name: String, path: FieldPath)] {
        let fields = (fields ?? [:]).sorted { $0.key < $1.key }
        guard fields.count <= Self.maximumFields else {
            throw SinkError("settings.fields: has \(fields.count) fields, and the most are \(Self.maximumFields)")
        }
        var result: [(name: String, path: FieldPath)] = []
        for (name, path) in fields {
            guard Self.isName(name) else {
                throw SinkError(
                    "settings.fields.\(name): a field's name is at most 64 of A-Z, 0-9 and _, and begins with a letter")
            }
            guard !JournalEntry.ownNames.contains(name), !name.hasPrefix("PENSTOCK_") else {
                throw SinkError("settings.fields.\(name): the plugin sets this field itself: choose another name")
            }
            guard let parsed = FieldPath(written: path) else {
                throw SinkError(
                    "settings.fields.\(name): \"\(path)\" must be names with a . between them, such as"
                        + " properties.order_id")
            }
            result.append((name, parsed))
        }
        return result
    }

    /// journald drops fields with other names.
    private static func isName(_ name: String) -> Bool {
        guard let first = name.utf8.first, (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(first) else { return false }
        return name.utf8.count <= 64
            && name.utf8.allSatisfy {
                switch $0 {
                case UInt8(ascii: "A")...UInt8(ascii: "Z"), UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"):
                    true
                default: false
                }
            }
    }
}
