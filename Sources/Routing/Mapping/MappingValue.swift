import Events

/// A mapping as written in the configuration, not yet compiled.
package indirect enum MappingValue: Sendable, Equatable {
    case null
    case bool(Bool)
    /// The number's JSON text, so that it keeps its digits.
    case number(String)
    case string(String)
    /// `!secret NAME`; the value is the name.
    case secret(String)
    case list([MappingValue])
    /// Members in the order written; names are unique.
    case object([Member])

    package struct Member: Sendable, Equatable {
        package var name: String
        package var value: MappingValue

        package init(_ name: String, _ value: MappingValue) {
            self.name = name
            self.value = value
        }
    }

    /// The kind of the value, for error messages.
    var kind: String {
        switch self {
        case .null: "null"
        case .bool(let value): value ? "true" : "false"
        case .number: "a number"
        case .string: "text"
        case .secret: "a secret"
        case .list: "a list"
        case .object: "an object"
        }
    }

    /// Appends the value as compact JSON without interpreting it.
    /// - Returns: false if the value contains a secret.
    func appendLiteral(to json: inout [UInt8]) -> Bool {
        switch self {
        case .null: json.append(contentsOf: "null".utf8)
        case .bool(let value): json.append(contentsOf: (value ? "true" : "false").utf8)
        case .number(let text): json.append(contentsOf: text.utf8)
        case .string(let text): JSONText.appendString(text, to: &json)
        case .secret: return false
        case .list(let items):
            json.append(UInt8(ascii: "["))
            for (i, item) in items.enumerated() {
                if i > 0 { json.append(UInt8(ascii: ",")) }
                guard item.appendLiteral(to: &json) else { return false }
            }
            json.append(UInt8(ascii: "]"))
        case .object(let members):
            json.append(UInt8(ascii: "{"))
            for (i, member) in members.enumerated() {
                if i > 0 { json.append(UInt8(ascii: ",")) }
                JSONText.appendString(member.name, to: &json)
                json.append(UInt8(ascii: ":"))
                guard member.value.appendLiteral(to: &json) else { return false }
            }
            json.append(UInt8(ascii: "}"))
        }
        return true
    }
}
