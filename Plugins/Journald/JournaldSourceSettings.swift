import PenstockPluginKit

/// The settings of a source.
struct JournaldSourceSettings: Decodable {
    /// Where reading begins if the host has no position yet.
    enum Start: String, Decodable { case beginning, end }

    /// A name, or syslog's number.
    struct Priority: Decodable {
        var number: Int

        init(from decoder: any Decoder) throws {
            let container = try decoder.singleValueContainer()
            let names = JournaldSettings.Priority.allCases.map(\.rawValue)
            if let number = try? container.decode(Int.self), names.indices.contains(number) {
                self.number = number
            } else if let name = try? container.decode(String.self),
                let number = names.firstIndex(of: name) ?? Int(name).flatMap({ names.indices.contains($0) ? $0 : nil })
            {
                self.number = number
            } else {
                throw DecodingError.dataCorruptedError(
                    in: container, debugDescription: "must be 0 to 7, or \(names.joined(separator: ", "))")
            }
        }
    }

    static let schema = """
        {"type": "object", "additionalProperties": false, "properties": {
            "match": {"type": "array", "items": {"type": "string"},
                "description": "FIELD=value, as for journalctl: the same field is or, another one is and, + is or"},
            "units": {"type": "array", "items": {"type": "string", "minLength": 1},
                "description": "only entries of these units; without a type, .service is added"},
            "priority": {"description": "the least important entries to read: 0 to 7, or emerg to debug; default: all"},
            "identifiers": {"type": "array", "items": {"type": "string"},
                "description": "only entries with one of these SYSLOG_IDENTIFIER"},
            "fields": {"type": "array", "items": {"type": "string"},
                "description": "the fields that become properties; default: the usual ones"},
            "event": {"type": "string", "minLength": 1, "maxLength": 1000,
                "description": "the event's name, with placeholders: {properties.identifier}; default: Log Line"},
            "start": {"type": "string", "enum": ["end", "beginning"],
                "description": "where reading begins the first time; default: end"},
            "own": {"type": "boolean",
                "description": "whether entries of Penstock itself are read; default: false"},
            "max_value": {"type": "integer", "minimum": 64, "maximum": 1048576,
                "description": "bytes of a value; the rest is cut off; default: 32768"},
            "directory": {"type": "string", "minLength": 1, "format": "path",
                "description": "the directory of the journal's files; default: this machine's journal"}}}
        """

    private static let maximumFields = 100

    var match: [String]?
    var units: [String]?
    var priority: Priority?
    var identifiers: [String]?
    var fields: [String]?
    var event: String?
    var start: Start?
    var own: Bool?
    var max_value: Int?
    var directory: String?

    var longestValue: Int { max_value ?? 32_768 }

    /// - Throws: an error that names the setting.
    func validate() throws(SourceError) {
        guard (fields ?? []).count <= Self.maximumFields else {
            throw SourceError(
                "settings.fields: has \(fields?.count ?? 0) items, and the most are \(Self.maximumFields)")
        }
        for name in fields ?? [] where !JournalFilter.isName(name) {
            throw SourceError("settings.fields: \"\(name)\" is not a field's name: A-Z, 0-9 and _, at most 64")
        }
        guard 64...(1 << 20) ~= longestValue else {
            throw SourceError("settings.max_value: is \(longestValue), but must be between 64 and \(1 << 20)")
        }
        if directory?.utf8.contains(0) == true { throw SourceError("settings.directory: contains U+0000; remove it") }
    }
}
