import Events

/// Collects the paths that the filters and transforms of one destination ask for, each once, so
/// that one pass over an event answers them all.
struct PathTable {
    private(set) var paths: [FieldPath] = []
    private var indices: [FieldPath: Int] = [:]

    /// The path's number: where its value lies in what `EventFields` reads.
    mutating func index(of path: FieldPath) -> Int {
        if let index = indices[path] { return index }
        let index = paths.count
        paths.append(path)
        indices[path] = index
        return index
    }
}
