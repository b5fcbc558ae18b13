import EventTemplates
import Events
import PenstockPluginKit

/// A column of the table, and where its value comes from.
struct Column: Equatable {
    enum Source: Equatable {
        case position, part, receivedAt
        /// `messageId`, or the message id that the host knows.
        case messageID
        case kind
        /// `timestamp`, or the receive time.
        case timestamp
        /// All fields of the event that have no column of their own in `standard`.
        case rest
        /// The payload as a whole.
        case payload
        case path(FieldPath)
    }

    /// PostgreSQL parses the values, so each type takes what its input function takes.
    enum ColumnType: String, Decodable, CaseIterable {
        case text, bigint, integer, numeric, boolean, date, timestamptz, uuid, jsonb
        case doublePrecision = "double precision"
    }

    var name: String
    var type: ColumnType
    var source: Source
    var isRequired = false

    /// In every table. The first two are the primary key.
    static let fixed = [
        Column(name: "position", type: .bigint, source: .position, isRequired: true),
        Column(name: "part", type: .integer, source: .part, isRequired: true),
        Column(name: "received_at", type: .timestamptz, source: .receivedAt, isRequired: true),
    ]

    /// The columns if the settings name none: the fields that people query most, and JSON for all others.
    static let standard =
        fixed + [
            Column(name: "message_id", type: .text, source: .messageID),
            Column(name: "kind", type: .text, source: .kind, isRequired: true),
            Column(name: "event", type: .text, source: .path(FieldPath(["event"]))),
            Column(name: "user_id", type: .text, source: .path(FieldPath(["userId"]))),
            Column(name: "anonymous_id", type: .text, source: .path(FieldPath(["anonymousId"]))),
            Column(name: "timestamp", type: .timestamptz, source: .timestamp, isRequired: true),
            Column(name: "properties", type: .jsonb, source: .path(FieldPath(["properties"]))),
            Column(name: "traits", type: .jsonb, source: .path(FieldPath(["traits"]))),
            Column(name: "context", type: .jsonb, source: .path(FieldPath(["context"]))),
            Column(name: "rest", type: .jsonb, source: .rest),
        ]

    /// The top-level fields that `standard` has columns for; `kind` is the field `type`.
    static let standardFields = [
        "type", "messageId", "event", "userId", "anonymousId", "timestamp", "properties", "traits", "context",
    ]

    /// The path to read from the payload, if any.
    var path: FieldPath? {
        switch source {
        case .path(let path): path
        case .messageID: FieldPath(["messageId"])
        case .timestamp: FieldPath(["timestamp"])
        case .position, .part, .receivedAt, .kind, .rest, .payload: nil
        }
    }
}

extension Column {
    /// A column that the settings name.
    struct Specification: Decodable {
        var name: String
        var path: String
        var type: ColumnType?
    }

    /// - Parameter index: of the specification in the settings, for messages.
    init(_ specification: Specification, index: Int) throws(SinkError) {
        let setting = "settings.columns[\(index)]"
        guard SQL.isIdentifier(specification.name) else {
            throw SinkError("\(setting).name: \(SQL.identifierRule)")
        }
        guard !Self.fixed.contains(where: { $0.name == specification.name }) else {
            throw SinkError("\(setting).name: every table has a column \(specification.name): write another name")
        }
        guard let source = Source(writtenPath: specification.path) else {
            throw SinkError(
                """
                \(setting).path: must be names with dots between them, such as properties.total, at most \
                \(FieldPath.maximumSegments) of them, or $ for the whole event; a backslash precedes a dot in a name
                """)
        }
        self.init(name: specification.name, type: specification.type ?? .text, source: source)
    }
}

extension Column.Source {
    /// `properties.total`, `$.properties.total`, or `$` for the whole event; nil: not a path.
    init?(writtenPath text: String) {
        if text == "$" {
            self = .payload
            return
        }
        guard let path = FieldPath(written: text) else { return nil }
        self = .path(path)
    }
}
