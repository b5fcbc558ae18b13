import Events

/// The fields that a run of transforms may write, as a tree of their paths. It is fixed when the configuration is
/// compiled. The edits of one event are in the `Overlay`.
struct EditTree {
    /// Numbers instead of references, so that a walk through the tree touches no reference counts.
    struct Node: BitwiseCopyable {
        /// The number of its value in the path table. Unused for the root, which is the event itself.
        var path: Int
        /// `none` for the root.
        var parent: Int
        var firstChild = EditTree.none
        var nextSibling = EditTree.none
        /// The node of the same field in `context.traits`; `none` if the field is not in `traits`.
        var twin = EditTree.none
        /// Its name as a JSON string and the colon, in `keys`.
        var key: Slice
    }

    static let root = 0
    static let none = -1
    private(set) var nodes = [Node(path: -1, parent: none, key: .absent)]
    private(set) var keys: [UInt8] = []
    /// By node: the path as written in filters, for messages.
    private(set) var names = [""]
    /// Whether nodes in `traits` have twins.
    let findsTraits: Bool
    /// Set if any node has a twin.
    private(set) var traits: TraitsPaths?
    private var numbers: [FieldPath: Int] = [:]

    init(findsTraits: Bool) { self.findsTraits = findsTraits }

    /// The node of a path. If it is new, it is added together with its missing parents.
    mutating func node(_ path: FieldPath, _ table: inout PathTable) -> Int {
        if let number = numbers[path] { return number }
        var parent = Self.root
        if path.segments.count > 1 { parent = node(FieldPath(Array(path.segments.dropLast())), &table) }
        let start = keys.count
        JSONValue.append(path.segments[path.segments.count - 1], to: &keys)
        keys.append(UInt8(ascii: ":"))
        let key = Slice(offset: UInt32(start), length: UInt32(keys.count - start))
        let number = nodes.count
        nodes.append(Node(path: table.index(of: path), parent: parent, key: key))
        names.append(path.description)
        numbers[path] = number
        append(number, to: parent)
        if findsTraits, let twin = TraitsPaths.twin(of: path) {
            nodes[number].twin = node(twin, &table)
            if traits == nil { traits = TraitsPaths(&table) }
        }
        return number
    }

    private mutating func append(_ child: Int, to parent: Int) {
        var last = nodes[parent].firstChild
        guard last != Self.none else {
            nodes[parent].firstChild = child
            return
        }
        while nodes[last].nextSibling != Self.none { last = nodes[last].nextSibling }
        nodes[last].nextSibling = child
    }
}
