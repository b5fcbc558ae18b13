import Events

/// What an editor is bound to when its stage is compiled: the paths that the stage reads, and the
/// tree of those that it writes.
struct StageBinding {
    var table: PathTable
    var tree = EditTree()

    /// The name of this machine.
    let host: String

    init(_ table: PathTable, host: String) {
        self.table = table
        self.host = host
    }

    /// The number of a path's value in an `EventView`.
    mutating func value(_ path: FieldPath) -> Int { table.index(of: path) }

    /// The number of a path in the `Overlay`.
    mutating func node(_ path: FieldPath) -> Int { tree.node(path, &table) }

    mutating func constantMember(_ path: FieldPath, _ json: [UInt8]) -> ConstantMember {
        let number = node(path)
        let node = tree.nodes[number]
        return ConstantMember(path: node.path, key: Array(tree.keys[node.key.range]), json: json)
    }
}
