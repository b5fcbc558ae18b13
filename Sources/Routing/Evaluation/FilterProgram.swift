import Events

/// A filter ready to run: its expression laid out flat, its strings as bytes, its paths as numbers
/// in a path table. Immutable, so that one is shared without copying.
final class FilterProgram: Sendable {
    /// An operation; operands are numbers of other nodes.
    enum Node: Sendable {
        // Conditions.
        case constant(Bool)
        /// The operand is `true`.
        case isTrue(Int32)
        /// Bit k is set: kinds with raw value k are taken.
        case kind(mask: UInt8)
        case not(Int32)
        /// Operands: `children[first..<end]`.
        case all(first: Int32, end: Int32)
        case any(first: Int32, end: Int32)
        case compare(Comparison, Int32, Int32)
        /// In the constant list of this number.
        case isInConstants(Int32, list: Int32)
        /// The same for a field that the event's index knows.
        case isIndexedIn(IndexedField, list: Int32)
        /// The same for any other field.
        case isFieldIn(Int32, list: Int32)
        /// A field and a number.
        case compareNumber(Comparison, Int32, JSONNumber)
        case isIn(Int32, Int32)
        case contains(Int32, Int32)
        case match(Int32, Int32)
        case bool(Int32)
        // Values.
        case literal(Value)
        case kindName
        case indexed(IndexedField)
        case field(Int32)
        case call(FilterFunction, Int32)
    }

    /// The right side of an `in` that is written out.
    final class ConstantList: Sendable {
        let strings: ByteStringSet
        let numbers: [JSONNumber]
        let hasNull: Bool
        let hasTrue: Bool
        let hasFalse: Bool

        /// - Parameter items: literals.
        init(_ items: [Expression]) {
            strings = ByteStringSet(items.compactMap { if case .string(let text) = $0 { text } else { nil } })
            numbers = items.compactMap { if case .number(let number) = $0 { number } else { nil } }
            hasNull = items.contains(.null)
            hasTrue = items.contains(.bool(true))
            hasFalse = items.contains(.bool(false))
        }

        /// - Returns: nil for a string with escapes, which has to be decoded first.
        @inline(__always)
        func contains(_ value: FieldValue, of json: Span<UInt8>) -> Bool? {
            switch value.type {
            case .string: strings.contains(json.extracting(value.slice.range))
            case .escapedString: nil
            case .number where numbers.isEmpty: false
            case .number: JSONNumber(json.extracting(value.slice.range)).map(numbers.contains) ?? hasNull
            case .true: hasTrue
            case .false: hasFalse
            case .missing, .null: hasNull
            case .array, .object: false
            }
        }
    }

    let nodes: [Node]
    let children: [Int32]
    let lists: [ConstantList]
    let constants: [UInt8]
    let root: Int

    init(nodes: [Node], children: [Int32], lists: [ConstantList], constants: [UInt8], root: Int) {
        self.nodes = nodes
        self.children = children
        self.lists = lists
        self.constants = constants
        self.root = root
    }

    /// Whether it takes every event.
    var isAlways: Bool {
        if case .constant(true) = nodes[root] { true } else { false }
    }

    /// The value of a filter without fields, as an expression.
    func constantResult() -> Expression {
        let index = EventIndex(kind: .track)
        let fields = EventFields(PathTable())
        let nothing: [UInt8] = []
        var evaluation = FilterEvaluation(self, EventView(json: nothing.span, index: index, fields: fields))
        return evaluation.result(root)
    }
}
