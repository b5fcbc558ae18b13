import Events

/// One evaluation of a filter for one event. It allocates only for strings that functions produce and for strings with
/// escapes. Each comparison releases what it used.
///
/// `FilterProgram.matches` (FilterFastPath.swift) answers most filters before an evaluation is created, so both
/// implement the common operators.
struct FilterEvaluation: ~Copyable, ~Escapable {
    private let view: EventView
    private let program: FilterProgram
    /// The program's constants. They are held here because a view of them must not outlive their owner.
    private let constants: [UInt8]
    private var scratch: [UInt8] = []

    @_lifetime(copy view)
    init(_ program: FilterProgram, _ view: borrowing EventView) {
        self.view = view.copied()
        self.program = program
        constants = program.constants.bytes
    }

    mutating func condition(_ node: Int) -> Bool {
        switch program.nodes[node] {
        case .constant(let value): return value
        case .kind(let mask): return mask & 1 << view.index.kind.rawValue != 0
        case .not(let operand): return !condition(Int(operand))
        case .all(let first, let end):
            for i in Int(first)..<Int(end) where !condition(Int(program.children[i])) { return false }
            return true
        case .any(let first, let end):
            for i in Int(first)..<Int(end) where condition(Int(program.children[i])) { return true }
            return false
        default:
            let mark = scratch.count
            defer {
                let made = scratch.count - mark
                if made > 0 { scratch.removeLast(made) }
            }
            return comparison(node)
        }
    }

    private mutating func comparison(_ node: Int) -> Bool {
        switch program.nodes[node] {
        case .isIndexedIn(let field, let list):
            let item = value(of: field)
            return isMember(item, of: program.lists[Int(list)])
        case .isFieldIn(let path, let list):
            let item = load(view.value(Int(path)))
            return isMember(item, of: program.lists[Int(list)])
        case .isIndexedText(let field, let text):
            let item = value(of: field)
            return isText(item, text)
        case .isFieldText(let path, let text):
            let item = load(view.value(Int(path)))
            return isText(item, text)
        case .compareNumber(let comparison, let path, let number):
            return FilterProgram.compare(comparison, view.value(Int(path)), number, view.memory)
        case .isInConstants(let item, let list):
            let item = value(Int(item))
            return isMember(item, of: program.lists[Int(list)])
        case .compare(let comparison, let left, let right):
            let left = value(Int(left))
            let right = value(Int(right))
            return compare(comparison, left, right)
        case .isIn(let item, let list):
            let item = value(Int(item))
            let list = value(Int(list))
            return isMember(item, of: list)
        case .contains(let text, let part):
            let text = value(Int(text))
            let part = value(Int(part))
            guard text.kind == .string, part.kind == .string else { return false }
            return bytes(text).contains(bytes(part))
        case .match(let text, let pattern):
            let text = value(Int(text))
            let pattern = value(Int(pattern))
            guard text.kind == .string, pattern.kind == .string,
                pattern.source == .constants || pattern.length <= Glob.maximumDynamicPattern
            else { return false }
            return Glob.matches(bytes(text), bytes(pattern))
        case .bool(let operand):
            let operand = value(Int(operand))
            return isTruthy(operand)
        case .isTrue(let operand):
            let operand = value(Int(operand))
            return operand.kind == .bool && operand.isTrue
        case .literal, .kindName, .indexed, .field, .call, .constant, .kind, .not, .all, .any: return false
        }
    }

    /// The value of a whole filter as a literal. Lists and objects, which no function produces, count as null.
    mutating func result(_ node: Int) -> Expression {
        let value = value(node)
        switch value.kind {
        case .null, .list, .object: return .null
        case .bool: return .bool(value.isTrue)
        case .number: return .number(value.number)
        case .string: return .string(String(copying: bytes(value)))
        }
    }

    // MARK: Values

    private mutating func value(_ node: Int) -> Value {
        switch program.nodes[node] {
        case .literal(let value): return value
        case .field(let path): return load(view.value(Int(path)))
        case .indexed(let field): return value(of: field)
        case .kindName: return made(view.index.kind.name)
        case .call(let function, let operand):
            let operand = value(Int(operand))
            return call(function, operand)
        case .constant, .isTrue, .kind, .not, .all, .any, .compare, .compareNumber, .isInConstants, .isIndexedIn,
            .isFieldIn, .isIndexedText, .isFieldText, .isIn, .contains, .match, .bool:
            return .bool(condition(node))
        }
    }

    private mutating func value(of field: IndexedField) -> Value {
        load(view.value(field))
    }

    private mutating func call(_ function: FilterFunction, _ operand: Value) -> Value {
        switch function {
        case .length: return .number(.integer(length(of: operand)))
        case .typeof: return made(operand.typeName)
        case .lowercase: return changed(operand, .lower)
        case .uppercase: return changed(operand, .upper)
        case .snakecase: return changed(operand, .snake)
        case .kebabcase: return changed(operand, .kebab)
        case .titlecase: return changed(operand, .title)
        case .string: return text(of: operand)
        case .number:
            switch operand.kind {
            case .number: return operand
            case .string: return JSONNumber(bytes(operand)).map(Value.number) ?? .null
            case .null, .bool, .list, .object: return .null
            }
        case .contains, .match, .bool: return .null
        }
    }

    /// The bytes of a string or the items of a list. The length of any other value is 0.
    private func length(of value: Value) -> Int64 {
        switch value.kind {
        case .string: return Int64(value.length)
        case .list:
            let bytes = bytes(value)
            var cursor = ListCursor(0..<bytes.count)
            var count: Int64 = 0
            while cursor.next(in: bytes) != nil { count += 1 }
            return count
        case .null, .bool, .number, .object: return 0
        }
    }

    private mutating func changed(_ value: Value, _ to: TextCase) -> Value {
        guard value.kind == .string else { return .null }
        // The result of another function is changed in place, so that nested calls take no more memory than one call.
        let isLast = value.source == .scratch && value.range.upperBound == scratch.count
        let start = isLast ? value.range.lowerBound : scratch.count
        if !isLast { copyToScratch(value) }
        to.apply(to: &scratch, from: start)
        return madeText(from: start)
    }

    private mutating func text(of value: Value) -> Value {
        switch value.kind {
        case .null, .string: return value
        case .bool: return made(value.isTrue ? "true" : "false")
        case .number where value.length == 0: return made(value.number.json)
        case .number, .list, .object:
            return Value(kind: .string, source: value.source, offset: value.offset, length: value.length)
        }
    }

    /// Null, false, 0, "", "false", [] and {} are false. All other values are true.
    private func isTruthy(_ value: Value) -> Bool {
        switch value.kind {
        case .null: return false
        case .bool: return value.isTrue
        case .number: return value.number != .integer(0)
        case .string: return value.length > 0 && !bytes(value).hasBytes(of: Array("false".utf8).span)
        case .list: return length(of: value) > 0
        case .object:
            let bytes = bytes(value)
            return !JSONMembers.isEmpty(0..<bytes.count, bytes)
        }
    }

    private mutating func copyToScratch(_ value: Value) {
        switch value.source {
        case .event: scratch.append(contentsOf: view.memory.extracting(value.range))
        case .constants: scratch.append(contentsOf: constants[value.range])
        case .scratch: scratch.append(copyOf: value.range)
        }
    }

    // MARK: Comparing

    private mutating func compare(_ comparison: Comparison, _ left: Value, _ right: Value) -> Bool {
        switch comparison {
        case .equal: return isEqual(left, right)
        case .notEqual: return !isEqual(left, right)
        case .less, .lessOrEqual, .greater, .greaterOrEqual:
            guard left.kind == .number, right.kind == .number else { return false }
            switch comparison {
            case .less: return left.number < right.number
            case .lessOrEqual: return left.number <= right.number
            case .greater: return left.number > right.number
            default: return left.number >= right.number
            }
        }
    }

    /// Equality is strict: values of different types are never equal. Lists are compared item by item, objects by their
    /// text.
    private mutating func isEqual(_ left: Value, _ right: Value) -> Bool {
        guard left.kind == right.kind else { return false }
        switch left.kind {
        case .null: return true
        case .bool: return left.isTrue == right.isTrue
        case .number: return left.number == right.number
        case .string, .object:
            return bytes(left).hasBytes(of: bytes(right))
        case .list:
            var ours = ListCursor(left.range)
            var theirs = ListCursor(right.range)
            while true {
                let a = next(&ours, left.source)
                let b = next(&theirs, right.source)
                guard let a, let b else { return a == nil && b == nil }
                // Nested lists are at most as deep as an event, whose depth is bounded.
                if !isEqual(a, b) { return false }
            }
        }
    }

    private func isText(_ item: Value, _ constant: Slice) -> Bool {
        item.kind == .string && program.constants.hold(bytes(item), at: constant)
    }

    private func isMember(_ item: Value, of list: FilterProgram.ConstantList) -> Bool {
        switch item.kind {
        case .string: program.strings.number(of: bytes(item), in: list.strings) != nil
        case .number: program.isNumber(item.number, in: list)
        case .bool: item.isTrue ? list.hasTrue : list.hasFalse
        case .null: list.hasNull
        case .list, .object: false
        }
    }

    private mutating func isMember(_ item: Value, of list: Value) -> Bool {
        guard list.kind == .list else { return false }
        var cursor = ListCursor(list.range)
        while let member = next(&cursor, list.source) {
            if isEqual(item, member) { return true }
        }
        return false
    }

    /// The next item of a list in the memory `source`.
    private mutating func next(_ cursor: inout ListCursor, _ source: Value.Source) -> Value? {
        switch source {
        case .event: return cursor.next(in: view.memory).map { load($0) }
        case .constants: return cursor.next(in: constants.span).map { load($0, from: .constants) }
        // Functions produce strings, never lists.
        case .scratch: return nil
        }
    }

    // MARK: Memory

    @_lifetime(borrow self)
    private func bytes(_ value: Value) -> Span<UInt8> {
        switch value.source {
        case .event: view.memory.extracting(value.range)
        case .constants: constants.span.extracting(value.range)
        case .scratch: scratch.span.extracting(value.range)
        }
    }

    /// Loads a value from the event or from the filter's constants.
    private mutating func load(_ field: FieldValue, from source: Value.Source = .event) -> Value {
        let (offset, length) = (field.slice.offset, field.slice.length)
        switch field.type {
        case .missing, .null: return .null
        case .true: return .bool(true)
        case .false: return .bool(false)
        case .string: return .string(source, field.slice)
        case .escapedString: return decoded(field.slice, in: source)
        case .array: return Value(kind: .list, source: source, offset: offset, length: length)
        case .object: return Value(kind: .object, source: source, offset: offset, length: length)
        case .number:
            var value = Value(kind: .number, source: source, offset: offset, length: length)
            guard let number = JSONNumber(bytes(value)) else { return .null }
            value.number = number
            return value
        }
    }

    /// Decodes the escapes of a string.
    private mutating func decoded(_ slice: Slice, in source: Value.Source = .event) -> Value {
        let start = scratch.count
        let valid: Bool
        switch source {
        case .event: valid = JSONText.unescape(view.memory.extracting(slice.range), into: &scratch)
        case .constants:
            let constants = constants
            valid = JSONText.unescape(constants.span.extracting(slice.range), into: &scratch)
        case .scratch: valid = false
        }
        return valid ? madeText(from: start) : .null
    }

    private mutating func made(_ text: String) -> Value {
        let start = scratch.count
        scratch.append(contentsOf: text.utf8)
        return madeText(from: start)
    }

    /// The end of the scratch memory, from `start`, as a string.
    private func madeText(from start: Int) -> Value {
        .string(.scratch, Slice(offset: UInt32(start), length: UInt32(scratch.count - start)))
    }
}
