/// Merges the main file and those of `conf.d`. Maps merge by key, the lists `routes` and `pipeline` append, and any
/// other key may be set only once.
struct ConfigurationMerge {
    let diagnostics: Diagnostics

    private static let appending: Set<String> = ["routes", "pipeline"]

    func merge(_ roots: [YAMLNode]) -> YAMLNode? {
        var whole: YAMLNode?
        for root in roots {
            guard root.entries != nil else {
                diagnostics.error(
                    at: root.place, "a configuration is a map of sections, not \(root.found)",
                    hint: "begin with sources:, routes: or destinations:")
                continue
            }
            guard let before = whole else {
                whole = root
                continue
            }
            whole?.content = .map(merge(before.entries ?? [], root.entries ?? [], path: []))
        }
        return whole
    }

    private func merge(_ first: [YAMLEntry], _ second: [YAMLEntry], path: [String]) -> [YAMLEntry] {
        var merged = first
        for entry in second {
            guard let index = merged.firstIndex(where: { $0.key == entry.key }) else {
                merged.append(entry)
                continue
            }
            let path = path + [entry.key]
            switch (merged[index].value.content, entry.value.content) {
            case (.map(let a), .map(let b)):
                merged[index].value.content = .map(merge(a, b, path: path))
            case (.list(let a), .list(let b)) where path.count == 1 && Self.appending.contains(entry.key):
                merged[index].value.content = .list(a + b)
            // An empty section (everything in it is commented out) has no effect.
            case (_, .scalar(let empty)) where empty.isNull && path.count == 1: break
            case (.scalar(let empty), _) where empty.isNull && path.count == 1: merged[index] = entry
            default:
                diagnostics.error(
                    at: entry.place, "\(quoted(path.joined(separator: "."))) is set twice",
                    hint: "remove one of the two",
                    note: .init("it was set first here", at: merged[index].place))
            }
        }
        return merged
    }
}
