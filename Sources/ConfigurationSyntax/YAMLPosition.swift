/// The position of a character in a file.
struct YAMLPosition: Hashable, Sendable {
    /// From 1.
    var line: Int
    /// From 1, in Unicode scalars.
    var column: Int

    /// Skips an anchor (`&name`) and a tag (`!name`). They precede a node, and the node's mark points to them.
    static func skipProperties(_ line: [Unicode.Scalar], from start: Int) -> Int {
        var index = start
        while index < line.count, line[index] == "&" || line[index] == "!" {
            while index < line.count, line[index] != " ", line[index] != "\t" { index += 1 }
            while index < line.count, line[index] == " " || line[index] == "\t" { index += 1 }
        }
        return index
    }
}
