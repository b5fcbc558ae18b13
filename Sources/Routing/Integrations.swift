import Events

/// The event's own choice of destinations: `"integrations": {"All": false, "mixpanel": true}`. The destination's name
/// decides; else its preset's display name; else `All`; else the destination is allowed.
struct Integrations {
    /// Numbers of the paths to look at. The first one that is present decides.
    private let paths: [Int]
    private let keys: [String]

    init(name: String, displayName: String?, _ table: inout PathTable) {
        var keys = [name]
        if let displayName, displayName != name { keys.append(displayName) }
        if !keys.contains("All") { keys.append("All") }
        self.keys = keys
        paths = keys.map { table.index(of: FieldPath(["integrations", $0])) }
    }

    /// `false` forbids the destination. Null decides nothing, like a missing key. Any other value allows it, including
    /// options for the destination.
    func allow(_ view: borrowing EventView) -> Bool { forbidding(view) == nil }

    /// The key that forbids the destination. Nil: the destination is allowed.
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
