import Events

/// Compiles expressions to a program. Parts without a field are computed here, once. Operands that need only the
/// event's index come first, since they may make it unnecessary to read the event.
struct FilterCompiler {
    private var nodes: [FilterProgram.Node] = []
    private var children: [Int32] = []
    private var lists: [FilterProgram.ConstantList] = []
    private var strings = ByteStringSets()
    private var numbers: [JSONNumber] = []
    private var constants: [UInt8] = []

    static func compile(_ expression: Expression, _ table: inout PathTable) -> FilterProgram {
        compile(all: [expression], &table)
    }

    /// Compiles several filters to one program. Each filter is known by its number.
    static func compile(all expressions: [Expression], _ table: inout PathTable) -> FilterProgram {
        var compiler = FilterCompiler()
        var roots: [Int32] = []
        for expression in expressions { roots.append(compiler.condition(expression.folded, &table)) }
        return compiler.program(roots)
    }

    /// Compiles an expression to a program whose root is a value, for `FilterEvaluation.result`.
    static func compile(value expression: Expression, _ table: inout PathTable) -> FilterProgram {
        var compiler = FilterCompiler()
        let root = compiler.value(expression.folded, &table)
        return compiler.program([root])
    }

    /// Computes an expression without fields, for constant folding.
    fileprivate static func value(_ expression: Expression) -> Expression {
        switch expression {
        case .null, .bool, .number, .string, .list: return expression
        default: break
        }
        var compiler = FilterCompiler()
        var table = PathTable()
        let root = compiler.value(expression, &table)
        return compiler.program([root]).constantResult()
    }

    private func program(_ roots: [Int32]) -> FilterProgram {
        FilterProgram(
            nodes: nodes, children: children, lists: lists, strings: strings, numbers: numbers, constants: constants,
            roots: roots)
    }

    private mutating func add(_ node: FilterProgram.Node) -> Int32 {
        nodes.append(node)
        return Int32(nodes.count - 1)
    }

    private mutating func condition(_ expression: Expression, _ table: inout PathTable) -> Int32 {
        switch expression {
        case .bool(let value): return add(.constant(value))
        case .null, .number, .string, .list: return add(.constant(false))
        case .not(let operand): return add(.not(condition(operand, &table)))
        case .all(let operands):
            let range = join(operands, &table)
            return add(.all(first: range.lowerBound, end: range.upperBound))
        case .any(let operands):
            let range = join(operands, &table)
            return add(.any(first: range.lowerBound, end: range.upperBound))
        case .compare(let comparison, let left, let right):
            if let mask = Self.kindMask(comparison, left, right) { return add(.kind(mask: mask)) }
            if let node = equality(comparison, left, right, &table) { return node }
            if case .path(let path) = left, case .number(let number) = right, path != .type, IndexedField(path) == nil {
                return add(.compareNumber(comparison, Int32(table.reading(path)), number))
            }
            return add(.compare(comparison, value(left, &table), value(right, &table)))
        case .isIn(.path(.type), .list(let items)):
            return add(.kind(mask: Self.kindMask(items)))
        case .isIn(let item, .list(let items)):
            let list = store(list: items)
            if case .path(let path) = item, let field = IndexedField(path) {
                return add(.isIndexedIn(field, list: list))
            }
            if case .path(let path) = item { return add(.isFieldIn(Int32(table.reading(path)), list: list)) }
            return add(.isInConstants(value(item, &table), list: list))
        case .isIn(let item, let list): return add(.isIn(value(item, &table), value(list, &table)))
        case .call(.contains, let arguments): return pair(arguments, &table, FilterProgram.Node.contains)
        case .call(.match, let arguments): return pair(arguments, &table, FilterProgram.Node.match)
        case .call(.bool, let arguments): return add(.bool(value(arguments[0], &table)))
        case .path, .call: return add(.isTrue(value(expression, &table)))
        }
    }

    private mutating func value(_ expression: Expression, _ table: inout PathTable) -> Int32 {
        switch expression {
        case .null: return add(.literal(.null))
        case .bool(let value): return add(.literal(.bool(value)))
        case .number(let value): return add(.literal(.number(value)))
        case .string(let text): return add(.literal(.string(.constants, store(text.utf8))))
        case .list(let items):
            var json: [UInt8] = []
            JSONValue.list(items.map(\.jsonValue)).append(to: &json)
            let slice = store(json)
            return add(.literal(Value(kind: .list, offset: slice.offset, length: slice.length)))
        case .path(.type): return add(.kindName)
        case .path(let path):
            if let field = IndexedField(path) { return add(.indexed(field)) }
            return add(.field(Int32(table.reading(path))))
        case .call(let function, let arguments) where function.result != .bool:
            return add(.call(function, value(arguments[0], &table)))
        case .not, .all, .any, .compare, .isIn, .call: return condition(expression, &table)
        }
    }

    private mutating func pair(
        _ arguments: [Expression], _ table: inout PathTable, _ node: (Int32, Int32) -> FilterProgram.Node
    ) -> Int32 {
        let first = value(arguments[0], &table)
        return add(node(first, value(arguments[1], &table)))
    }

    /// Operands have no side effects, so their order is free. The cheap ones come first.
    private mutating func join(_ operands: [Expression], _ table: inout PathTable) -> Range<Int32> {
        let ordered = (0...2).flatMap { cost in operands.filter { $0.cost == cost } }
        let numbers = ordered.map { condition($0, &table) }
        let first = Int32(children.count)
        children.append(contentsOf: numbers)
        return first..<Int32(children.count)
    }

    private mutating func store(_ bytes: some Collection<UInt8>) -> Slice {
        let slice = Slice(offset: UInt32(constants.count), length: UInt32(bytes.count))
        constants.append(contentsOf: bytes)
        return slice
    }

    /// Stores a text with quotes around it.
    /// - Returns: the place of the text between them.
    private mutating func store(quoted text: String.UTF8View) -> Slice {
        constants.append(UInt8(ascii: "\""))
        defer { constants.append(UInt8(ascii: "\"")) }
        return store(text)
    }

    private mutating func store(list items: [Expression]) -> Int32 {
        let firstNumber = Int32(numbers.count)
        numbers += items.compactMap { if case .number(let number) = $0 { number } else { nil } }
        lists.append(
            FilterProgram.ConstantList(
                strings: strings.add(items.compactMap { if case .string(let text) = $0 { text } else { nil } }),
                firstNumber: firstNumber, endNumber: Int32(numbers.count), hasNull: items.contains(.null),
                hasTrue: items.contains(.bool(true)), hasFalse: items.contains(.bool(false))))
        return Int32(lists.count - 1)
    }

    /// Compiles a comparison of a field with a constant: `event = "Signed Up"`. A constant that is not a string becomes
    /// a list of one item.
    private mutating func equality(
        _ comparison: Comparison, _ left: Expression, _ right: Expression, _ table: inout PathTable
    ) -> Int32? {
        guard comparison == .equal || comparison == .notEqual else { return nil }
        let pair: (path: FieldPath, literal: Expression)
        switch (left, right) {
        case (.path(let path), let other) where !other.hasPath: pair = (path, other)
        case (let other, .path(let path)) where !other.hasPath: pair = (path, other)
        default: return nil
        }
        if case .list = pair.literal { return nil }
        if pair.path == .type { return nil }
        let isEqual: Int32
        let field = IndexedField(pair.path)
        if case .string(let text) = pair.literal, OriginField(pair.path) == nil {
            isEqual =
                field.map { add(.isIndexedText($0, store(text.utf8))) }
                ?? add(.isFieldText(Int32(table.reading(pair.path)), store(quoted: text.utf8)))
        } else {
            let list = store(list: [pair.literal])
            isEqual =
                field.map { add(.isIndexedIn($0, list: list)) }
                ?? add(.isFieldIn(Int32(table.reading(pair.path)), list: list))
        }
        return comparison == .equal ? isEqual : add(.not(isEqual))
    }

    /// Compiles `type = "track"` to the test of one bit.
    static func kindMask(_ comparison: Comparison, _ left: Expression, _ right: Expression) -> UInt8? {
        let literal: Expression
        switch (left, right) {
        case (.path(.type), let other), (let other, .path(.type)): literal = other
        default: return nil
        }
        switch (literal, comparison) {
        case (.string, .equal): return kindMask([literal])
        case (.string, .notEqual): return ~kindMask([literal])
        default: return nil
        }
    }

    static func kindMask(_ names: [Expression]) -> UInt8 {
        names.reduce(0) { mask, name in
            guard case .string(let text) = name, let kind = EventKind(name: text) else { return mask }
            return mask | 1 << kind.rawValue
        }
    }
}

extension Expression {
    /// The literal as JSON.
    var jsonValue: JSONValue {
        switch self {
        case .bool(let value): .bool(value)
        case .number(let value): .number(value.json)
        case .string(let text): .string(text)
        default: .null
        }
    }

    var hasPath: Bool {
        switch self {
        case .null, .bool, .number, .string, .list: false
        case .path: true
        case .not(let operand): operand.hasPath
        case .all(let operands), .any(let operands), .call(_, let operands): operands.contains(where: \.hasPath)
        case .compare(_, let left, let right), .isIn(let left, let right): left.hasPath || right.hasPath
        }
    }

    /// 0: needs only the event's index. 1: a search of its bytes may do. 2: the event must be read.
    fileprivate var cost: Int {
        if !readsFields { return 0 }
        switch self {
        case .compare(.equal, .path(let path), .string), .compare(.equal, .string, .path(let path)):
            return OriginField(path) == nil ? 1 : 2
        default: return 2
        }
    }

    /// Whether the event must be read to evaluate it.
    var readsFields: Bool { !paths.allSatisfy { $0 == .type || IndexedField($0) != nil } }

    /// Every field that it reads.
    var paths: [FieldPath] {
        switch self {
        case .null, .bool, .number, .string, .list: []
        case .path(let path): [path]
        case .not(let operand): operand.paths
        case .all(let operands), .any(let operands), .call(_, let operands): operands.flatMap(\.paths)
        case .compare(_, let left, let right), .isIn(let left, let right): left.paths + right.paths
        }
    }

    /// This expression with its constant parts computed.
    var folded: Expression {
        let folded = withFoldedParts
        // Folding may have removed all fields: `properties.debug and false`.
        return folded.hasPath ? folded : FilterCompiler.value(folded)
    }

    private var withFoldedParts: Expression {
        switch self {
        case .null, .bool, .number, .string, .list, .path: return self
        case .not(let operand): return .not(operand.folded)
        case .all(let operands): return Self.join(operands, neutral: true, Expression.all)
        case .any(let operands): return Self.join(operands, neutral: false, Expression.any)
        case .compare(let comparison, let left, let right): return .compare(comparison, left.folded, right.folded)
        case .isIn(let item, let list): return .isIn(item.folded, list.folded)
        case .call(let function, let arguments): return .call(function, arguments.map(\.folded))
        }
    }

    private static func join(
        _ operands: [Expression], neutral: Bool, _ combine: ([Expression]) -> Expression
    ) -> Expression {
        var rest: [Expression] = []
        for operand in operands.map(\.folded) {
            if operand.hasPath {
                rest.append(operand)
            } else if (operand == .bool(true)) != neutral {
                return .bool(!neutral)
            }
        }
        return rest.count == 1 && rest[0].type == .bool ? rest[0] : combine(rest)
    }
}
