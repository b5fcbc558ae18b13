/// Counts in how many events each field differs. Bounded. Pure.
struct FieldCounts {
    /// The most paths. Differences at further paths are counted together.
    static let limit = 1_000

    struct Counts: Equatable {
        var added = 0
        var removed = 0
        var changed = 0

        var total: Int { added + removed + changed }

        mutating func add(_ other: Counts) {
            added += other.added
            removed += other.removed
            changed += other.changed
        }
    }

    private(set) var paths: [[UInt8]: Counts] = [:]
    /// Differences at paths that are not counted.
    private(set) var others = 0

    mutating func add(_ field: DifferingField) {
        var counts = Counts()
        switch field.change {
        case .added: counts.added = 1
        case .removed: counts.removed = 1
        case .changed: counts.changed = 1
        }
        add(counts, at: field.path)
    }

    private mutating func add(_ counts: Counts, at path: [UInt8]) {
        if paths[path] == nil, paths.count >= Self.limit {
            others += counts.total
        } else {
            paths[path, default: Counts()].add(counts)
        }
    }

    mutating func merge(_ other: FieldCounts) {
        // In an order that does not depend on the hash of a path.
        for (path, counts) in other.sorted { add(counts, at: path) }
        others += other.others
    }

    /// The most frequent first.
    var sorted: [(path: [UInt8], counts: Counts)] {
        paths.map { ($0.key, $0.value) }.sorted { a, b in
            a.1.total != b.1.total ? a.1.total > b.1.total : a.0.lexicographicallyPrecedes(b.0)
        }
    }
}
