import Events

/// A value from the YAML configuration that transforms write into events.
package indirect enum JSONValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The number's JSON spelling.
    case number(String)
    case string(String)
    case list([JSONValue])
    /// Members in the order written; names are unique.
    case object([Member])

    package struct Member: Sendable, Equatable {
        package var name: String
        package var value: JSONValue

        package init(_ name: String, _ value: JSONValue) {
            self.name = name
            self.value = value
        }
    }

    package static func integer(_ value: some BinaryInteger) -> JSONValue { .number("\(value)") }

    /// Appends the value as compact JSON.
    package func append(to json: inout [UInt8]) {
        switch self {
        case .null: json.append(contentsOf: "null".utf8)
        case .bool(let value): json.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let text): json.append(contentsOf: text.utf8)
        case .string(let text): Self.append(text, to: &json)
        case .list(let items):
            json.append(UInt8(ascii: "["))
            for (i, item) in items.enumerated() {
                if i > 0 { json.append(UInt8(ascii: ",")) }
                item.append(to: &json)
            }
            json.append(UInt8(ascii: "]"))
        case .object(let members):
            json.append(UInt8(ascii: "{"))
            for (i, member) in members.enumerated() {
                if i > 0 { json.append(UInt8(ascii: ",")) }
                Self.append(member.name, to: &json)
                json.append(UInt8(ascii: ":"))
                member.value.append(to: &json)
            }
            json.append(UInt8(ascii: "}"))
        }
    }

    /// Appends text as a JSON string, with quotes.
    static func append(_ text: String, to json: inout [UInt8]) {
        JSONText.appendString(text, to: &json)
    }
}

extension JSONNumber {
    /// The number's JSON spelling.
    var json: String {
        switch self {
        case .integer(let value): "\(value)"
        case .large(let value): "\(value)"
        // Outside of a double's range, but a valid JSON number.
        case .real(let value) where value.isInfinite: value > 0 ? "1e999" : "-1e999"
        case .real(let value): "\(value)"
        }
    }
}
