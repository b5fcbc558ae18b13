import Events

/// The fields that a run of transforms may write, as a tree along their paths. Fixed when the
/// configuration is compiled; what is really written into one event is in the `Overlay`.
struct EditTree {
    struct Node {
        /// Its value's number in the path table; unused for the root, the event itself.
        var path: Int
        /// Its name as a JSON string, and the colon.
        var key: [UInt8]
        var children: [Int] = []
        /// As written in filters, for messages.
        var name: String
        /// The transform that writes here, or below here if nobody does, for messages.
        var owner: String
    }

    static let root = 0
    private(set) var nodes = [Node(path: -1, key: [], name: "", owner: "")]
    private var numbers: [FieldPath: Int] = [:]

    /// The node of a path, made with all those above it if it is new.
    mutating func node(_ path: FieldPath, for owner: String, _ table: inout PathTable) -> Int {
        if let number = numbers[path] { return number }
        var parent = Self.root
        if path.segments.count > 1 { parent = node(FieldPath(Array(path.segments.dropLast())), for: owner, &table) }
        var key: [UInt8] = []
        JSONValue.append(path.segments[path.segments.count - 1], to: &key)
        key.append(UInt8(ascii: ":"))
        let number = nodes.count
        nodes.append(Node(path: table.index(of: path), key: key, name: path.description, owner: owner))
        nodes[parent].children.append(number)
        numbers[path] = number
        return number
    }
}
