import Events

/// Collects the paths that one destination's filters and transforms read, each once, so that one pass over an event
/// fetches all values.
struct PathTable {
    private(set) var paths: [FieldPath] = []
    private var indices: [FieldPath: Int] = [:]

    /// The path's number, by which `EventFields` returns its value.
    mutating func index(of path: FieldPath) -> Int {
        if let index = indices[path] { return index }
        let index = paths.count
        paths.append(path)
        indices[path] = index
        return index
    }
}
