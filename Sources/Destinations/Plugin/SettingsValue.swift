import Events
import FoundationEssentials

/// A JSON value. Booleans and numbers are distinct.
enum SettingsValue: Decodable, Equatable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([SettingsValue])
    case object([String: SettingsValue])

    init(json: String) throws {
        self = try JSONDecoder().decode(SettingsValue.self, from: Data(json.utf8))
    }

    init(from decoder: any Decoder) throws {
        let value = try decoder.singleValueContainer()
        if value.decodeNil() {
            self = .null
        } else if let boolean = try? value.decode(Bool.self) {
            self = .boolean(boolean)
        } else if let number = try? value.decode(Double.self) {
            self = .number(number)
        } else if let string = try? value.decode(String.self) {
            self = .string(string)
        } else if let array = try? value.decode([SettingsValue].self) {
            self = .array(array)
        } else {
            self = .object(try value.decode([String: SettingsValue].self))
        }
    }

    /// The type's name in JSON Schema.
    var type: String {
        switch self {
        case .null: "null"
        case .boolean: "boolean"
        case .number(let number): number.rounded() == number ? "integer" : "number"
        case .string: "string"
        case .array: "array"
        case .object: "object"
        }
    }

    /// The JSON text, with members sorted by name.
    var json: String {
        switch self {
        case .null, .boolean, .number: return text
        case .string(let string):
            var bytes: [UInt8] = []
            JSONText.appendString(string, to: &bytes)
            return String(decoding: bytes, as: UTF8.self)
        case .array(let items): return "[" + items.map(\.json).joined(separator: ",") + "]"
        case .object(let object):
            let members = object.sorted { $0.key < $1.key }.map { SettingsValue.string($0).json + ":" + $1.json }
            return "{" + members.joined(separator: ",") + "}"
        }
    }

    /// The text shown in a list of choices.
    var text: String {
        switch self {
        case .null: "null"
        case .boolean(let boolean): "\(boolean)"
        case .number(let number): Int64(exactly: number).map { "\($0)" } ?? "\(number)"
        case .string(let string): "\"\(string)\""
        case .array: "a list"
        case .object: "an object"
        }
    }
}
