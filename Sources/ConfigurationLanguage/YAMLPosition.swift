/// A character of a file.
struct YAMLPosition: Hashable, Sendable {
    /// From 1.
    var line: Int
    /// From 1, in Unicode scalars.
    var column: Int

    /// Behind an anchor (`&name`) and a tag (`!name`), which stand before a node and are where its
    /// mark points to.
    static func skipProperties(_ line: [Unicode.Scalar], from start: Int) -> Int {
        var index = start
        while index < line.count, line[index] == "&" || line[index] == "!" {
            while index < line.count, line[index] != " ", line[index] != "\t" { index += 1 }
            while index < line.count, line[index] == " " || line[index] == "\t" { index += 1 }
        }
        return index
    }
}
