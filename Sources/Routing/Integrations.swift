import Events

/// The event's own word about where it may go: `"integrations": {"All": false, "mixpanel": true}`.
/// A destination's name decides, else its preset's display name, else `All`, else it may.
struct Integrations {
    /// Numbers of the paths to look at, the first that is there decides.
    private let paths: [Int]
    private let keys: [String]

    init(name: String, displayName: String?, _ table: inout PathTable) {
        var keys = [name]
        if let displayName, displayName != name { keys.append(displayName) }
        if !keys.contains("All") { keys.append("All") }
        self.keys = keys
        paths = keys.map { table.index(of: FieldPath(["integrations", $0])) }
    }

    /// `false` forbids; anything else (options for the destination, too) allows, and null says nothing.
    func allow(_ view: borrowing EventView) -> Bool { forbidding(view) == nil }

    /// The key that forbids it; nil: none does.
    func keyForbidding(_ view: borrowing EventView) -> String? { forbidding(view).map { keys[$0] } }

    private func forbidding(_ view: borrowing EventView) -> Int? {
        for (number, path) in paths.enumerated() {
            switch view.value(path).type {
            case .missing, .null: continue
            case .false: return number
            case .true, .number, .string, .escapedString, .array, .object: return nil
            }
        }
        return nil
    }
}
