import Events

/// The messages of a request with their fields, as far as events need them. The names are those of OTLP's JSON.
enum OTLPMessage: Int, CaseIterable {
    case request, resourceLogs, resource, scopeLogs, scope, logRecord, keyValue, anyValue, arrayValue, keyValueList

    struct Field: Sendable {
        var name: [UInt8]
        var number: Int
        var kind: Kind
        var isRepeated = false

        init(_ name: String, _ number: Int, _ kind: Kind) {
            self.name = Array(name.utf8)
            self.number = number
            self.kind = kind
        }

        /// A list of messages.
        init(_ name: String, _ number: Int, each message: OTLPMessage) {
            self.init(name, number, .message(message))
            isRepeated = true
        }
    }

    enum Kind: Sendable {
        case message(OTLPMessage)
        case string
        /// Bytes as hexadecimal digits: OTLP's JSON differs from protobuf's for the ids of traces and spans.
        case hexadecimal
        /// Bytes as base64.
        case base64
        case bool
        case int32, uint32, int64
        case fixed32, fixed64
        case double
    }

    /// The field with this name; nil if it is unknown.
    func field(_ name: Span<UInt8>) -> Field? {
        for field in Self.fields[rawValue] where name.hasBytes(of: field.name.span) { return field }
        return nil
    }

    /// By `rawValue`.
    private static let fields: [[Field]] = allCases.map { message in
        switch message {
        case .request: [Field("resourceLogs", 1, each: .resourceLogs)]
        case .resourceLogs: [Field("resource", 1, .message(.resource)), Field("scopeLogs", 2, each: .scopeLogs)]
        case .resource: [Field("attributes", 1, each: .keyValue)]
        case .scopeLogs: [Field("scope", 1, .message(.scope)), Field("logRecords", 2, each: .logRecord)]
        case .scope:
            [Field("name", 1, .string), Field("version", 2, .string), Field("attributes", 3, each: .keyValue)]
        case .logRecord:
            [
                Field("timeUnixNano", 1, .fixed64), Field("severityNumber", 2, .int32),
                Field("severityText", 3, .string), Field("body", 5, .message(.anyValue)),
                Field("attributes", 6, each: .keyValue), Field("droppedAttributesCount", 7, .uint32),
                Field("flags", 8, .fixed32), Field("traceId", 9, .hexadecimal), Field("spanId", 10, .hexadecimal),
                Field("observedTimeUnixNano", 11, .fixed64), Field("eventName", 12, .string),
            ]
        case .keyValue: [Field("key", 1, .string), Field("value", 2, .message(.anyValue))]
        case .anyValue:
            [
                Field("stringValue", 1, .string), Field("boolValue", 2, .bool), Field("intValue", 3, .int64),
                Field("doubleValue", 4, .double), Field("arrayValue", 5, .message(.arrayValue)),
                Field("kvlistValue", 6, .message(.keyValueList)), Field("bytesValue", 7, .base64),
            ]
        case .arrayValue: [Field("values", 1, each: .anyValue)]
        case .keyValueList: [Field("values", 1, each: .keyValue)]
        }
    }
}
