/// A route during reading. Its names have not been checked yet.
struct RouteDraft: Sendable {
    struct Target: Sendable {
        var name: String
        var place: Place
    }

    var name: String?
    var rules = RulesDraft()
    var to: [Target] = []
}

/// `routes[]`
extension Section where Target == RouteDraft {
    static let route = Section([
        Field("name", \.name, .word("text"), default: "route N", "the route's name in explanations"),
        Field("where", \.rules.condition, .filter, "only events that match this filter"),
        Field(
            "transforms", \.rules.transforms, .transforms,
            "transforms for the events that this route sends to its destinations"),
        Field("to", \.to, .list(.target, "destinations"), required: true, "the names of the destinations"),
    ])
}

extension Kind where Value == RouteDraft.Target {
    static var target: Kind {
        Kind(.text("name of a destination")) { node, key, diagnostics in
            plainText(node, key, "the name of a destination", diagnostics).map { .init(name: $0, place: node.place) }
        }
    }
}

extension Kind where Value == [Located<RouteDraft>] {
    static var routes: Kind {
        let section = Section<RouteDraft>.route
        return Kind(.list(of: .section(section.describe(RouteDraft())))) { node, key, diagnostics in
            guard let items = node.items else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a list, not \(node.found)",
                    hint: "put \"- \" before each route")
                return nil
            }
            return items.enumerated().map { number, item in
                var draft = RouteDraft()
                let name = (item.entries ?? []).first { $0.key == "name" }?.value.scalar?.text
                let found = section.read(
                    item, named: name.map { "route \(quoted($0))" } ?? "route \(number + 1)", into: &draft, diagnostics)
                return Located(name: draft.name ?? "route \(number + 1)", place: item.place, draft: draft, found: found)
            }
        }
    }
}
