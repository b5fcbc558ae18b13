import Events

/// Compiled filters: flat nodes, strings as bytes, paths as numbers in a path table. A program is immutable, so that it
/// is shared without copies. It holds plain values, so that evaluation touches no reference counts.
final class FilterProgram: Sendable {
    /// An operation. Operands are the numbers of other nodes.
    enum Node: BitwiseCopyable, Sendable {
        // Conditions.
        case constant(Bool)
        /// The operand is `true`.
        case isTrue(Int32)
        /// Matches the kinds whose raw value k has bit k set.
        case kind(mask: UInt8)
        case not(Int32)
        /// Operands: `children[first..<end]`.
        case all(first: Int32, end: Int32)
        case any(first: Int32, end: Int32)
        case compare(Comparison, Int32, Int32)
        /// The operand is in the constant list with this number.
        case isInConstants(Int32, list: Int32)
        /// As above, for a field that the event's index holds.
        case isIndexedIn(IndexedField, list: Int32)
        /// As above, for any other field.
        case isFieldIn(Int32, list: Int32)
        /// The field equals this text of the constants: a field that the index holds, or another field of the event's
        /// own bytes. Around the latter's text are quotes.
        case isIndexedText(IndexedField, Slice)
        case isFieldText(Int32, Slice)
        /// Compares a field with a number.
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

    /// A list that is written out on the right of `in`.
    struct ConstantList: BitwiseCopyable, Sendable {
        var strings: ByteStringSets.Member
        /// The list's range in `numbers`.
        var firstNumber: Int32
        var endNumber: Int32
        var hasNull: Bool
        var hasTrue: Bool
        var hasFalse: Bool
    }

    /// Strings, one after another. They are a separate struct because Swift gives no view of an array that a class
    /// holds.
    struct Constants: Sendable {
        let bytes: [UInt8]

        @inline(__always)
        func hold(_ text: Span<UInt8>, at slice: Slice) -> Bool {
            Int(slice.length) == text.count && bytes.span.extracting(slice.range).hasBytes(of: text)
        }

        /// Whether an event may contain a string that equals the text at `slice`. False is certain, true is not.
        /// - Parameter slice: quotes lie before and after it.
        @inline(__always)
        func mayOccur(in json: Span<UInt8>, at slice: Slice) -> Bool {
            let inner = slice.range
            return JSONText.mayContain(bytes.span.extracting(inner.lowerBound - 1..<inner.upperBound + 1), in: json)
        }
    }

    let nodes: [Node]
    let children: [Int32]
    let lists: [ConstantList]
    let strings: ByteStringSets
    let numbers: [JSONNumber]
    let constants: Constants
    /// The root node of each filter.
    let roots: [Int32]

    init(
        nodes: [Node], children: [Int32], lists: [ConstantList], strings: ByteStringSets, numbers: [JSONNumber],
        constants: [UInt8], roots: [Int32]
    ) {
        self.nodes = nodes
        self.children = children
        self.lists = lists
        self.strings = strings
        self.numbers = numbers
        self.constants = Constants(bytes: constants)
        self.roots = roots
    }

    /// The root of the first filter, which is usually the only one.
    var root: Int { Int(roots[0]) }

    /// Whether it matches every event.
    var isAlways: Bool {
        if case .constant(true) = nodes[root] { true } else { false }
    }

    func isNumber(_ number: JSONNumber, in list: ConstantList) -> Bool {
        for i in Int(list.firstNumber)..<Int(list.endNumber) where numbers[i] == number { return true }
        return false
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
