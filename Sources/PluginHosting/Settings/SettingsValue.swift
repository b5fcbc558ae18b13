import Events

/// A JSON value. Booleans and numbers are distinct.
package enum SettingsValue: Equatable, Sendable {
    case null
    case boolean(Bool)
    case number(Double)
    case string(String)
    case array([SettingsValue])
    case object([String: SettingsValue])

    package enum Problem: Error {
        case notJSON
        /// In bytes or in levels.
        case tooLarge
    }

    /// Takes time in proportion to the text, whatever is in it: the text may be a plugin's.
    /// - Parameter maximumDepth: levels of lists and objects.
    package init(json: String, maximumDepth: Int = 128) throws(Problem) {
        let text = Array(json.utf8)
        guard let document = JSONDocument(text, maximumDepth: maximumDepth) else { throw .notJSON }
        try self.init(document, in: text)
    }

    private init(_ document: JSONDocument, in text: [UInt8]) throws(Problem) {
        switch document.value {
        case .null: self = .null
        case .bool(let boolean): self = .boolean(boolean)
        case .number:
            guard let number = document.scalar(in: text).flatMap(Double.init), number.isFinite else { throw .notJSON }
            self = .number(number)
        case .string:
            guard let string = document.scalar(in: text) else { throw .notJSON }
            self = .string(string)
        case .array(let items):
            var values: [SettingsValue] = []
            for item in items { values.append(try SettingsValue(item, in: text)) }
            self = .array(values)
        case .object(let members):
            var values: [String: SettingsValue] = [:]
            for (name, value) in members {
                guard let name = JSONText.string(name.span) else { throw .notJSON }
                values[name] = try SettingsValue(value, in: text)
            }
            self = .object(values)
        case .tooDeep: throw .tooLarge
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
    package var json: String {
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
