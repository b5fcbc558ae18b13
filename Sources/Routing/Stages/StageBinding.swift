import Events

/// Collects what an editor needs when its stage is compiled: the paths that the stage reads, and the tree of the paths
/// that it writes.
struct StageBinding {
    var table: PathTable
    var tree: EditTree

    let surroundings: StageSurroundings

    /// - Parameter findsTraits: an edit of the traits of an identify that has them in its context is made there.
    init(_ table: PathTable, _ surroundings: StageSurroundings, findsTraits: Bool) {
        self.table = table
        self.surroundings = surroundings
        tree = EditTree(findsTraits: findsTraits)
    }

    /// The number, in an `EventView`, of the value that is read at a path.
    mutating func value(_ path: FieldPath) -> Int { table.reading(path) }

    /// The number of the value that an edit at a path changes.
    mutating func target(_ path: FieldPath) -> Int {
        tree.findsTraits ? table.target(path) : table.index(of: path)
    }

    /// The number of a path in the `Overlay`.
    mutating func node(_ path: FieldPath) -> Int { tree.node(path, &table) }

    mutating func constantMember(_ path: FieldPath, _ json: [UInt8]) -> ConstantMember {
        let number = node(path)
        let node = tree.nodes[number]
        return ConstantMember(path: node.path, key: Array(tree.keys[node.key.range]), json: json)
    }
}

/// Facts outside the event that stages use.
struct StageSurroundings {
    /// The name of this machine.
    var host = ""
    /// Bytes that transforms may add to an event.
    var limit = Int.max
    /// Stops a transform that takes long. Nil: no interruption.
    var interruption: Interruption?
}
