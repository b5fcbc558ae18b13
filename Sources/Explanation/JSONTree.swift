import Events

/// JSON for printing and comparing. It keeps the order of members and the spelling of numbers.
package indirect enum JSONTree: Sendable {
    /// `true`, `null`, `1.50`; or the text of a value that is nested deeper than `maximumDepth`.
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

    /// Nil if the text is not JSON.
    package init?(_ text: [UInt8]) {
        guard let document = JSONDocument(text, maximumDepth: Self.maximumDepth) else { return nil }
        self.init(document, in: text)
    }

    package init?(_ text: String) { self.init(Array(text.utf8)) }

    /// Compact JSON.
    package var text: String {
        switch self {
        case .literal(let text): text
        case .string(let text): Self.quoted(text)
        case .list(let items): "[\(items.map(\.text).joined(separator: ","))]"
        case .object(let members):
            "{\(members.map { Self.quoted($0.name) + ":" + $0.value.text }.joined(separator: ","))}"
        }
    }

    /// JSON for people: indented by two spaces per level. A value that fits into 72 characters takes one line.
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

    /// JSON with one member or item in each line, indented by two spaces per level: for a comparison line by line.
    package var expandedLines: [String] {
        switch self {
        case .list(let items) where !items.isEmpty:
            return ["["] + Self.joined(items.map(\.expandedLines)) + ["]"]
        case .object(let members) where !members.isEmpty:
            let entries = members.map { member in
                var lines = member.value.expandedLines
                lines[0] = Self.quoted(member.name) + ": " + lines[0]
                return lines
            }
            return ["{"] + Self.joined(entries) + ["}"]
        case .literal, .string, .list, .object: return [spacedText]
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

    /// JSON for people, on one line.
    package var spacedText: String {
        switch self {
        case .literal, .string: text
        case .list(let items): "[\(items.map(\.spacedText).joined(separator: ", "))]"
        case .object(let members):
            members.isEmpty
                ? "{}"
                : "{ \(members.map { Self.quoted($0.name) + ": " + $0.value.spacedText }.joined(separator: ", ")) }"
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
    /// Compares numbers by value, and members in any order. Members of the same name must have the same order.
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

/// Pairs an object's members with those of another object by name. Members that share a name are paired in order.
struct MembersByName {
    private var values: [String: [JSONTree]] = [:]
    private var taken: [String: Int] = [:]

    init(_ members: [JSONTree.Member]) {
        for member in members { values[member.name, default: []].append(member.value) }
    }

    /// Takes the next member of this name; nil if none is left.
    mutating func take(_ name: String) -> JSONTree? {
        guard let values = values[name], taken[name, default: 0] < values.count else { return nil }
        defer { taken[name, default: 0] += 1 }
        return values[taken[name, default: 0]]
    }

    /// The members that were not taken.
    func rest(of members: [JSONTree.Member]) -> [JSONTree.Member] {
        var passed: [String: Int] = [:]
        return members.filter { member in
            passed[member.name, default: 0] += 1
            return passed[member.name, default: 0] > taken[member.name, default: 0]
        }
    }
}

extension JSONTree {
    /// Deeper values stay text, so that malicious events cannot overflow the stack.
    private static let maximumDepth = 128

    private init?(_ document: JSONDocument, in text: [UInt8]) {
        switch document.value {
        case .string(let contents):
            guard let string = JSONText.string(text.span.extracting(contents)) else { return nil }
            self = .string(string)
        case .array(let items):
            var list: [JSONTree] = []
            for item in items {
                guard let item = JSONTree(item, in: text) else { return nil }
                list.append(item)
            }
            self = .list(list)
        case .object(let members):
            var object: [Member] = []
            for (name, value) in members {
                guard let name = JSONText.string(name.span), let value = JSONTree(value, in: text) else { return nil }
                object.append(Member(name, value))
            }
            self = .object(object)
        case .number, .bool, .null, .tooDeep: self = .literal(String(decoding: text[document.range], as: UTF8.self))
        }
    }
}
