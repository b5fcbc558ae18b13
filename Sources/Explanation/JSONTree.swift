import Events

/// JSON for looking at: members in their order, numbers as they are spelled.
package indirect enum JSONTree: Sendable {
    /// `true`, `null`, `1.50`; or what is nested too deep to be looked at, as it stands.
    case literal(String)
    case string(String)
    case list([JSONTree])
    case object([Member])

    package struct Member: Sendable {
        package var name: String
        package var value: JSONTree

        package init(_ name: String, _ value: JSONTree) {
            self.name = name
            self.value = value
        }
    }

    package static let null = JSONTree.literal("null")
    package static func bool(_ value: Bool) -> JSONTree { .literal(value ? "true" : "false") }
    package static func number(_ value: some BinaryInteger) -> JSONTree { .literal("\(value)") }

    /// Nil for what is no JSON.
    package init?(_ text: [UInt8]) {
        var reader = Reader(text: text)
        guard let value = reader.value(depth: 0), reader.isAtEnd else { return nil }
        self = value
    }

    package init?(_ text: String) { self.init(Array(text.utf8)) }

    /// Compact.
    package var text: String {
        switch self {
        case .literal(let text): text
        case .string(let text): Self.quoted(text)
        case .list(let items): "[\(items.map(\.text).joined(separator: ","))]"
        case .object(let members): "{\(members.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ","))}"
        }
    }

    /// Over several lines, two spaces a level; short lists and objects of single values on one.
    package var lines: [String] {
        let whole = spacedText
        if whole.count <= 72 || isSingle { return [whole] }
        switch self {
        case .literal, .string: return [whole]
        case .list(let items):
            return ["["] + Self.joined(items.map(\.lines)) + ["]"]
        case .object(let members):
            let entries = members.map { member in
                var lines = member.value.lines
                lines[0] = Self.quoted(member.name) + ": " + lines[0]
                return lines
            }
            return ["{"] + Self.joined(entries) + ["}"]
        }
    }

    private static func joined(_ entries: [[String]]) -> [String] {
        entries.enumerated().flatMap { number, lines in
            var lines = lines
            if number < entries.count - 1 { lines[lines.count - 1] += "," }
            return lines.map { "  " + $0 }
        }
    }

    private var isSingle: Bool {
        switch self {
        case .literal, .string: true
        case .list(let items): items.isEmpty
        case .object(let members): members.isEmpty
        }
    }

    /// On one line, for reading.
    package var spacedText: String {
        switch self {
        case .literal, .string: text
        case .list(let items): "[\(items.map(\.spacedText).joined(separator: ", "))]"
        case .object(let members):
            members.isEmpty
                ? "{}" : "{ \(members.map { Self.quoted($0.name) + ": " + $0.value.spacedText }.joined(separator: ", ")) }"
        }
    }

    private static func quoted(_ text: String) -> String {
        var output: [UInt8] = []
        JSONText.appendString(text, to: &output)
        return String(decoding: output, as: UTF8.self)
    }

    subscript(name: String) -> JSONTree? {
        if case .object(let members) = self { members.last { $0.name == name }?.value } else { nil }
    }
}

extension JSONTree: Equatable {
    /// Numbers by value; members in any order, but for those of one name.
    package static func == (a: JSONTree, b: JSONTree) -> Bool {
        switch (a, b) {
        case (.literal(let a), .literal(let b)):
            if a == b { return true }
            guard let a = JSONNumber(a), let b = JSONNumber(b) else { return false }
            return a == b
        case (.string(let a), .string(let b)): return a.utf8.elementsEqual(b.utf8)
        case (.list(let a), .list(let b)): return a == b
        case (.object(let a), .object(let b)):
            guard a.count == b.count else { return false }
            var values = MembersByName(b)
            return a.allSatisfy { values.take($0.name) == $0.value }
        default: return false
        }
    }
}

/// An object's members, to be found by another's. Of those that share a name, the first goes with the first.
struct MembersByName {
    private var values: [String: [JSONTree]] = [:]
    private var taken: [String: Int] = [:]

    init(_ members: [JSONTree.Member]) {
        for member in members { values[member.name, default: []].append(member.value) }
    }

    /// The next of this name; nil: there is none (any more).
    mutating func take(_ name: String) -> JSONTree? {
        guard let values = values[name], taken[name, default: 0] < values.count else { return nil }
        defer { taken[name, default: 0] += 1 }
        return values[taken[name, default: 0]]
    }

    /// Those that were not taken.
    func rest(of members: [JSONTree.Member]) -> [JSONTree.Member] {
        var passed: [String: Int] = [:]
        return members.filter { member in
            passed[member.name, default: 0] += 1
            return passed[member.name, default: 0] > taken[member.name, default: 0]
        }
    }
}

extension JSONTree {
    /// Reads text that mostly was validated before; nil where it was not.
    private struct Reader {
        /// Deeper values are left as they stand: events made on purpose must not use up the stack.
        static let maximumDepth = 128

        let text: [UInt8]
        var position = 0

        init(text: [UInt8]) { self.text = text }

        var isAtEnd: Bool {
            mutating get {
                skipSpace()
                return position == text.count
            }
        }

        private var byte: UInt8? { position < text.count ? text[position] : nil }

        private mutating func skipSpace() {
            while let byte, [0x20, 0x0A, 0x0D, 0x09].contains(byte) { position += 1 }
        }

        private mutating func take(_ character: Unicode.Scalar) -> Bool {
            skipSpace()
            guard byte == UInt8(ascii: character) else { return false }
            position += 1
            return true
        }

        mutating func value(depth: Int) -> JSONTree? {
            skipSpace()
            switch byte {
            case UInt8(ascii: "{") where depth < Self.maximumDepth: return object(depth)
            case UInt8(ascii: "[") where depth < Self.maximumDepth: return list(depth)
            case UInt8(ascii: "{"), UInt8(ascii: "["): return opaque()
            case UInt8(ascii: "\""): return string().map(JSONTree.string)
            default:
                let start = position
                while let byte, !" \n\r\t,]}:\"".utf8.contains(byte) { position += 1 }
                let literal = String(decoding: text[start..<position], as: UTF8.self)
                return ["true", "false", "null"].contains(literal) || JSONNumber(literal) != nil ? .literal(literal) : nil
            }
        }

        private mutating func object(_ depth: Int) -> JSONTree? {
            position += 1
            var members: [Member] = []
            if take("}") { return .object(members) }
            repeat {
                skipSpace()
                guard let name = string(), take(":"), let value = value(depth: depth + 1) else { return nil }
                members.append(Member(name, value))
            } while take(",")
            return take("}") ? .object(members) : nil
        }

        private mutating func list(_ depth: Int) -> JSONTree? {
            position += 1
            var items: [JSONTree] = []
            if take("]") { return .list(items) }
            repeat {
                guard let value = value(depth: depth + 1) else { return nil }
                items.append(value)
            } while take(",")
            return take("]") ? .list(items) : nil
        }

        private mutating func string() -> String? {
            guard let range = contents() else { return nil }
            return JSONText.string(text.span.extracting(range))
        }

        /// The inside of the string that begins here.
        private mutating func contents() -> Range<Int>? {
            guard byte == UInt8(ascii: "\"") else { return nil }
            position += 1
            let start = position
            while let byte, byte != UInt8(ascii: "\"") { position += byte == UInt8(ascii: "\\") ? 2 : 1 }
            guard byte != nil else { return nil }
            position += 1
            return start..<position - 1
        }

        private mutating func opaque() -> JSONTree? {
            let start = position
            var depth = 0
            repeat {
                switch byte {
                case nil: return nil
                case UInt8(ascii: "\""): if contents() == nil { return nil }
                case UInt8(ascii: "{"), UInt8(ascii: "["):
                    depth += 1
                    position += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"):
                    depth -= 1
                    position += 1
                default: position += 1
                }
            } while depth > 0
            return .literal(String(decoding: text[start..<position], as: UTF8.self))
        }
    }
}
