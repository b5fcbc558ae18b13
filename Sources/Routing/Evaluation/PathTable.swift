import Events

/// Collects the paths that one destination's filters and transforms read, each once, so that one pass over an event
/// fetches all values.
struct PathTable {
    private(set) var paths: [FieldPath] = []
    /// The values that a rule makes. Each has its own number.
    private(set) var rules: [(number: Int, rule: ReadingRule)] = []
    private var indices: [FieldPath: Int] = [:]
    private var readings: [FieldPath: Int] = [:]

    /// The number of the stored value at a path, by which `EventFields` returns it: where an edit changes the event.
    mutating func index(of path: FieldPath) -> Int {
        if let index = indices[path] { return index }
        let index = add(path)
        indices[path] = index
        return index
    }

    /// The number of the value that filters, transforms and mappings read at a path (`ReadingRule`). For most paths,
    /// it is the stored value.
    mutating func reading(_ path: FieldPath) -> Int {
        if let number = readings[path] { return number }
        guard let rule = rule(for: path) else { return index(of: path) }
        let number = add(path)
        rules.append((number, rule))
        readings[path] = number
        return number
    }

    /// The number of the value that a transform changes at a path: the stored one, or that in `context.traits`.
    mutating func target(_ path: FieldPath) -> Int {
        TraitsPaths.twin(of: path) == nil ? index(of: path) : reading(path)
    }

    private mutating func add(_ path: FieldPath) -> Int {
        paths.append(path)
        return paths.count - 1
    }

    private mutating func rule(for path: FieldPath) -> ReadingRule? {
        if let field = OriginField(path) { return .origin(field) }
        if let twin = TraitsPaths.twin(of: path) {
            return .traits(TraitsPaths(&self), value: index(of: twin))
        }
        return IndexedField(path)?.isIdentity == true ? .identity : nil
    }
}
