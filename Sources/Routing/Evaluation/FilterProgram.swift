import Events

/// Filters ready to run: their expressions laid out flat, their strings as bytes, their paths as
/// numbers in a path table. Immutable, so that one is shared without copying; and what it holds is
/// plain values, so that running it counts no references.
final class FilterProgram: Sendable {
    /// An operation; operands are numbers of other nodes.
    enum Node: BitwiseCopyable, Sendable {
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
        /// A field that the index knows is this text of the constants, and any other field is.
        case isIndexedText(IndexedField, Slice)
        case isFieldText(Int32, Slice)
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
    struct ConstantList: BitwiseCopyable, Sendable {
        var strings: ByteStringSets.Member
        /// Of `numbers`.
        var firstNumber: Int32
        var endNumber: Int32
        var hasNull: Bool
        var hasTrue: Bool
        var hasFalse: Bool
    }

    /// Texts, one after the other. A struct of its own, since no view can be had into an array that a
    /// class holds.
    struct Constants: Sendable {
        let bytes: [UInt8]

        @inline(__always)
        func hold(_ text: Span<UInt8>, at slice: Slice) -> Bool {
            Int(slice.length) == text.count && bytes.span.extracting(slice.range).hasBytes(of: text)
        }
    }

    let nodes: [Node]
    let children: [Int32]
    let lists: [ConstantList]
    let strings: ByteStringSets
    let numbers: [JSONNumber]
    let constants: Constants
    /// The node that each filter begins with.
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

    /// Of the first filter, which mostly is the only one.
    var root: Int { Int(roots[0]) }

    /// Whether it takes every event.
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
