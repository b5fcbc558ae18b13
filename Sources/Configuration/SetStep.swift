import Routing

/// `set: { PATH: VALUE, … }`: checked by Routing, its errors shown where they stand.
struct SetStep {
    var transform: SetTransform
    /// The value as JSON.
    var text: String

    init?(_ node: YAMLNode, _ diagnostics: Diagnostics) {
        guard case .map = node.content else {
            diagnostics.error(
                at: node.place, "\"set\" has to be a map of paths and values, not \(node.found)",
                hint: "write set: { properties.name: value }")
            return nil
        }
        guard let text = JSONRendering.render(node, secretsAllowed: false, diagnostics) else { return nil }
        guard case .object(let members)? = JSONRendering.value(node) else {
            diagnostics.error(
                at: node.place, "a number that is too large", hint: "put it in quotes if it is meant as text")
            return nil
        }
        do throws(TransformErrors) {
            transform = try SetTransform(members)
        } catch {
            for error in error.errors {
                diagnostics.error(at: node.place(of: error), error.fault.message, hint: error.fault.hint)
            }
            return nil
        }
        self.text = text.literal
    }
}

extension YAMLNode {
    /// Where something is wrong below this node: follows the error's keys down the tree.
    func place(of error: TransformError) -> Place {
        var node = self
        var keyPlace = place
        for key in error.keys {
            switch node.content {
            case .map(let entries):
                guard let entry = entries.first(where: { $0.key == key }) else { return node.place }
                (node, keyPlace) = (entry.value, entry.place)
            case .list(let items):
                guard let number = Int(key), items.indices.contains(number) else { return node.place }
                (node, keyPlace) = (items[number], items[number].place)
            case .scalar:
                return node.place
            }
        }
        return error.isKey ? keyPlace : node.place(of: error.fault)
    }
}
