import Events
import NameSuggestion

/// Parses a filter by recursive descent:
///
///     condition  = conjunction { "or" conjunction }
///     conjunction = negation { "and" negation }
///     negation   = "!" negation | comparison
///     comparison = operand [ ("=" | "!=" | "<" | "<=" | ">" | ">=" | "in") operand ]
///     operand    = literal | path | function "(" arguments ")" | list | "(" condition ")"
struct FilterParser {
    /// Most levels of parentheses, negations and calls inside one another.
    static let maximumDepth = 64
    /// Most bytes of a filter's text.
    static let maximumLength = 64 << 10

    /// An expression and its place in the text.
    private struct Parsed {
        var expression: Expression
        var range: Range<Int>
    }

    private var lexer: FilterLexer
    private var token: Token
    /// The end of the previous token.
    private var lastEnd = 0
    private var depth = 0
    /// Each field that the filter mentions, by the offset where it starts.
    private var fields: [Int: FilterMention.Field] = [:]
    /// Each string that `type` is compared with.
    private var types: [FilterMention] = []

    static func parse(_ text: String) throws(FilterError) -> Expression { try parsed(text).expression }

    /// The fields and types that the filter mentions, for `FieldAdvice`.
    static func mentions(in text: String) throws(FilterError) -> [FilterMention] {
        let parser = try parsed(text).parser
        return parser.fields.values.map(FilterMention.field) + parser.types
    }

    private static func parsed(_ text: String) throws(FilterError) -> (expression: Expression, parser: FilterParser) {
        guard text.utf8.count <= maximumLength else {
            throw FilterError(0..<0, "a filter has at most \(maximumLength) bytes, this one has \(text.utf8.count)")
        }
        var parser = try FilterParser(text)
        if parser.token.kind == .end {
            throw FilterError(0..<0, "the filter is empty", hint: "to match every event, write true")
        }
        let condition = try parser.condition()
        guard parser.token.kind == .end else { throw parser.unexpected(after: condition) }
        try parser.requireCondition(condition)
        return (condition.expression, parser)
    }

    private init(_ text: String) throws(FilterError) {
        lexer = FilterLexer(text)
        token = try lexer.next()
    }

    private mutating func advance() throws(FilterError) {
        lastEnd = token.range.upperBound
        token = try lexer.next()
    }

    private mutating func nested<T>(_ body: (inout Self) throws(FilterError) -> T) throws(FilterError) -> T {
        guard depth < Self.maximumDepth else {
            throw FilterError(token.range, "this filter is nested deeper than \(Self.maximumDepth) levels")
        }
        depth += 1
        defer { depth -= 1 }
        return try body(&self)
    }

    // MARK: Conditions

    private mutating func condition() throws(FilterError) -> Parsed {
        try chain(
            of: .or,
            { (parser) throws(FilterError) in
                try parser.chain(of: .and, { (parser) throws(FilterError) in try parser.negation() }, Expression.all)
            }, Expression.any)
    }

    /// Parses one operand, or several with the same operator between them.
    private mutating func chain(
        of separator: Token.Kind, _ operand: (inout Self) throws(FilterError) -> Parsed,
        _ combine: ([Expression]) -> Expression
    ) throws(FilterError) -> Parsed {
        let first = try operand(&self)
        guard token.kind == separator else { return first }
        try requireCondition(first)
        var operands = [first.expression]
        while token.kind == separator {
            try advance()
            let next = try operand(&self)
            try requireCondition(next)
            operands.append(next.expression)
        }
        return Parsed(expression: combine(operands), range: first.range.lowerBound..<lastEnd)
    }

    private mutating func negation() throws(FilterError) -> Parsed {
        guard token.kind == .not else { return try comparison() }
        let start = token.range.lowerBound
        let operand = try nested { (parser) throws(FilterError) in
            try parser.advance()
            return try parser.token.kind == .not ? parser.negation() : parser.operand()
        }
        switch token.kind {
        case .compare, .isIn:
            throw FilterError(
                start..<token.range.upperBound, "! binds tighter than \(text(token))",
                hint: "write !( … ) around the comparison, or use !=")
        default: break
        }
        try requireCondition(operand)
        return Parsed(expression: .not(operand.expression), range: start..<lastEnd)
    }

    private mutating func comparison() throws(FilterError) -> Parsed {
        let left = try operand()
        let whole: Expression
        switch token.kind {
        case .compare(let comparison):
            try advance()
            let right = try operand()
            note(left, isOnTheRight: false, comparedWith: right)
            note(right, isOnTheRight: true, comparedWith: left)
            whole = .compare(comparison, left.expression, right.expression)
        case .isIn:
            try advance()
            let right = try operand()
            guard [.list, .unknown, .null].contains(right.expression.type) else {
                throw FilterError(
                    right.range, "in needs a list on its right, this is \(right.expression.type.noun)",
                    hint: "write [ … ], or the path of a field that holds a list")
            }
            if case .path(let path) = left.expression, path.segments == ["type"],
                case .list(let items) = right.expression
            {
                for case .string(let name) in items { types.append(.type(name, right.range)) }
            }
            whole = .isIn(left.expression, right.expression)
        default: return left
        }
        let parsed = Parsed(expression: whole, range: left.range.lowerBound..<lastEnd)
        switch token.kind {
        case .compare, .isIn:
            throw FilterError(
                token.range, "comparisons do not chain", hint: "join two comparisons with and")
        default: return parsed
        }
    }

    /// Records how fields are compared. A string without quotes usually appears as a field on the right.
    private mutating func note(_ operand: Parsed, isOnTheRight: Bool, comparedWith other: Parsed) {
        switch operand.expression {
        case .path:
            switch other.expression {
            case .path: fields[operand.range.lowerBound]?.use = isOnTheRight ? .text : .besideField
            case .call where isOnTheRight: fields[operand.range.lowerBound]?.use = .text
            default: break
            }
        case .string(let name):
            if case .path(let path) = other.expression, path.segments == ["type"] {
                types.append(.type(name, operand.range))
            }
        default: break
        }
    }

    /// `and`, `or` and `!` need operands that can be true. A number or a string is never true.
    private func requireCondition(_ parsed: Parsed) throws(FilterError) {
        switch parsed.expression.type {
        case .bool, .null, .unknown: return
        case let type:
            throw FilterError(
                parsed.range, "expected a condition; this is \(type.noun)",
                hint: "compare it with something, as in: type = \"track\"")
        }
    }

    // MARK: Operands

    private mutating func operand() throws(FilterError) -> Parsed {
        let range = token.range
        let expression: Expression
        switch token.kind {
        case .null: expression = .null
        case .bool(let value): expression = .bool(value)
        case .number(let value): expression = .number(value)
        case .string(let value): expression = .string(value)
        case .word(let path, let escaped): return try field(path, escaped: escaped)
        case .openList: return try list()
        case .open:
            return try nested { (parser) throws(FilterError) in
                try parser.advance()
                let inner = try parser.condition()
                try parser.close(.close, ")", opened: range)
                return Parsed(expression: inner.expression, range: range.lowerBound..<parser.lastEnd)
            }
        case .end:
            throw FilterError(range, "unexpected end of the filter; expected a field, a value or (")
        default:
            throw FilterError(range, "unexpected \"\(text(token))\"; expected a field, a value or (")
        }
        try advance()
        return Parsed(expression: expression, range: range)
    }

    private mutating func field(_ path: FieldPath, escaped: Bool) throws(FilterError) -> Parsed {
        let range = token.range
        try advance()
        guard token.kind == .open, !escaped else {
            fields[range.lowerBound] = .init(
                path: path, range: range, isEscaped: lexer.text[range.lowerBound] == UInt8(ascii: "\\"))
            return Parsed(expression: .path(path), range: range)
        }
        let name = path.description
        guard let function = FilterFunction(rawValue: name) else {
            let names = FilterFunction.allCases.map(\.rawValue)
            throw FilterError(
                range, "unknown function \(name)",
                hint: NearestName.find(name, among: names).map { "did you mean \($0)?" }
                    ?? (name == "not" ? "write !( … )" : "the functions are \(names.joined(separator: ", "))"))
        }
        return try nested { (parser) throws(FilterError) in try parser.call(function, range) }
    }

    private mutating func call(_ function: FilterFunction, _ name: Range<Int>) throws(FilterError) -> Parsed {
        let opened = token.range
        try advance()
        var arguments: [Parsed] = []
        if token.kind != .close {
            arguments.append(try condition())
            while token.kind == .comma {
                try advance()
                arguments.append(try condition())
            }
        }
        try close(.close, ")", opened: opened)
        guard arguments.count == function.parameters.count else {
            throw FilterError(
                name.lowerBound..<lastEnd,
                "\(function.rawValue) takes \(function.parameters.count) "
                    + "argument\(function.parameters.count == 1 ? "" : "s"), found \(arguments.count)",
                hint: "write \(function.signature)")
        }
        try checkArguments(of: function, arguments)
        return Parsed(expression: .call(function, arguments.map(\.expression)), range: name.lowerBound..<lastEnd)
    }

    private mutating func checkArguments(of function: FilterFunction, _ arguments: [Parsed]) throws(FilterError) {
        guard function.takesText else { return }
        // The part or the pattern is nearly always a string. A path here is probably a string without quotes.
        if arguments.count == 2, case .path = arguments[1].expression {
            fields[arguments[1].range.lowerBound]?.use = .text
        }
        for argument in arguments {
            let type = argument.expression.type
            guard [.string, .null, .unknown].contains(type) else {
                throw FilterError(
                    argument.range, "\(function.rawValue) works on strings, this is \(type.noun)",
                    hint: "string( … ) makes a string of other values")
            }
        }
        if function == .match, arguments.count == 2, case .string(let pattern) = arguments[1].expression {
            do {
                try Glob.check(pattern)
            } catch {
                // The opening quote takes one column.
                throw error.shifted(by: arguments[1].range.lowerBound + 1)
            }
        }
    }

    private mutating func list() throws(FilterError) -> Parsed {
        let opened = token.range
        try advance()
        var items: [Expression] = []
        list: while token.kind != .closeList {
            if !items.isEmpty {
                guard token.kind == .comma else {
                    if token.kind == .end { break list }
                    throw FilterError(token.range, "unexpected \"\(text(token))\"; expected , or ]")
                }
                try advance()
            }
            switch token.kind {
            case .null: items.append(.null)
            case .bool(let value): items.append(.bool(value))
            case .number(let value): items.append(.number(value))
            case .string(let value): items.append(.string(value))
            case .end: break list
            default:
                throw FilterError(
                    token.range, "a list holds strings, numbers, true, false and null; found \(text(token))",
                    hint: "to compare with fields, write several comparisons and join them with or")
            }
            try advance()
        }
        try close(.closeList, "]", opened: opened)
        return Parsed(expression: .list(items), range: opened.lowerBound..<lastEnd)
    }

    private mutating func close(_ kind: Token.Kind, _ name: String, opened: Range<Int>) throws(FilterError) {
        if token.kind == kind { return try advance() }
        if token.kind == .end {
            throw FilterError(opened, "this is never closed: \(name) is missing at the end")
        }
        throw FilterError(token.range, "unexpected \"\(text(token))\"; expected \(name)")
    }

    // MARK: Messages

    private func text(_ token: Token) -> String {
        String(decoding: lexer.text[token.range.prefix(40)], as: UTF8.self)
    }

    private func unexpected(after parsed: Parsed) -> FilterError {
        var hint: String?
        switch (parsed.expression, token.kind) {
        case (.path(let path), _) where path.segments == ["not"]: hint = "write !( … )"
        case (.path, .word(let word, _)) where word.segments == ["like"] || word.segments == ["matches"]:
            hint = "write match(\(String(decoding: lexer.text[parsed.range], as: UTF8.self)), \"pattern*\")"
        case (_, .word(let word, _)) where word.segments == ["contains"]:
            hint = "write contains(text, part)"
        case (_, .word(let word, _)) where word.segments == ["is"]: hint = "write ="
        case (.compare(_, _, .number), .comma): hint = "a number has no commas: write 1000, or 1.5"
        default: break
        }
        return FilterError(token.range, "unexpected \"\(text(token))\"; expected and, or, or the end", hint: hint)
    }
}
