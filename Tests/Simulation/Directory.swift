/// A directory: the entries that the kernel shows, the entries on the disk, and the pending changes.
final class Directory {
    enum Node {
        case file(Inode)
        case directory(Directory)

        func isSame(as other: Node?) -> Bool {
            switch (self, other) {
            case (.file(let a), .file(let b)?): a === b
            case (.directory(let a), .directory(let b)?): a === b
            default: false
            }
        }
    }

    private enum Change {
        case create(String, Node)
        case rename(String, String, Node)
        case remove(String, Node)
    }

    private(set) var entries: [String: Node] = [:]
    private var durable: [String: Node] = [:]
    private var pending: [Change] = []

    subscript(name: String) -> Node? { entries[name] }
    var names: [String] { entries.keys.sorted() }

    func create(_ name: String, _ node: Node) {
        entries[name] = node
        pending.append(.create(name, node))
    }

    func rename(_ name: String, to other: String, _ node: Node) {
        entries[name] = nil
        entries[other] = node
        pending.append(.rename(name, other, node))
    }

    func remove(_ name: String, _ node: Node) {
        entries[name] = nil
        pending.append(.remove(name, node))
    }

    func sync() {
        for change in pending { apply(change) }
        pending = []
    }

    /// Persists some of the pending changes at a crash and discards the rest. (A failed sync persists and discards
    /// none: a filesystem's log keeps changes of names until it can write them, or stops.)
    /// - Parameter inOrder: whether changes persist in their order, as with a journaling filesystem.
    /// - Returns: the number of discarded changes.
    func persistSome(_ random: inout Generator, inOrder: Bool) -> Int {
        let cut = random.pick([0, pending.count, random.below(pending.count + 1)])
        var forgotten = 0
        for (index, change) in pending.enumerated() {
            if inOrder ? index < cut : random.percent(50) { apply(change) } else { forgotten += 1 }
        }
        pending = []
        return forgotten
    }

    /// The machine restarts.
    func crash() { entries = durable }

    private func apply(_ change: Change) {
        switch change {
        case .create(let name, let node):
            durable[name] = node
        case .rename(let name, let other, let node):
            if node.isSame(as: durable[name]) { durable[name] = nil }
            durable[other] = node
        case .remove(let name, let node):
            if node.isSame(as: durable[name]) { durable[name] = nil }
        }
    }
}
