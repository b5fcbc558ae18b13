/// Keys that each kind of request may set instead of the destination's: a mapping, a body, limits, rules for responses.
/// A key set on the destination must apply to at least one request. A key that a user sets beside a preset must apply
/// to all of them.
struct RequestKeys {
    static let names: Set<String> = Set(Section<DestinationDraft>.perRequest.map(\.name)).union(["mapping"])

    let diagnostics: Diagnostics

    /// A preset's requests next to a user's key: their own key is replaced by the user's. With several kinds of request
    /// this is an error, since one mapping does not fit all kinds, and applying the key to some requests only would
    /// ignore part of the user's input. It is allowed if the requests' own values equal the user's. Headers are joined
    /// in each request.
    func giveWay(
        _ requests: YAMLNode, to entry: YAMLEntry, of preset: String, joining: (YAMLNode, YAMLNode) -> YAMLNode
    ) -> YAMLNode {
        guard Self.names.contains(entry.key), case .list(var items) = requests.content else { return requests }
        let own = items.compactMap { $0.entries?.first { $0.key == entry.key } }
        let isJoined = entry.key == "headers"
        guard isJoined || items.count == 1 || own.allSatisfy({ $0.value.says(entry.value) }) else {
            diagnostics.error(
                at: entry.place,
                "the preset \(quoted(preset)) has \(items.count) kinds of request, \(own.count) of them with"
                    + " \(entry.key), which this would not replace",
                hint: "write requests: with \(entry.key) for each; penstock presets show \(preset) prints the preset's")
            return requests
        }
        for i in items.indices {
            guard case .map(let keys) = items[i].content else { continue }
            items[i].content = .map(
                keys.compactMap { key in
                    guard key.key == entry.key else { return key }
                    return isJoined
                        ? YAMLEntry(key: key.key, place: entry.place, value: joining(key.value, entry.value)) : nil
                })
        }
        var requests = requests
        requests.content = .list(items)
        return requests
    }

    /// Reports a key of a destination, as its user wrote it, that applies to none of the requests.
    func checkUse(of entries: [YAMLEntry]) {
        guard case .list(let requests)? = entries.first(where: { $0.key == "requests" })?.value.content,
            !requests.isEmpty
        else { return }
        for entry in entries where Self.names.contains(entry.key) {
            guard requests.allSatisfy({ $0.entries?.contains { $0.key == entry.key } ?? false }) else { continue }
            diagnostics.error(
                at: entry.place, "each of the requests has its own \(entry.key), so this one is never used",
                hint: "remove one or the other")
        }
    }
}

extension YAMLNode {
    /// Whether both nodes have the same meaning, regardless of their places.
    fileprivate func says(_ other: YAMLNode) -> Bool {
        switch (content, other.content) {
        case (.scalar(let a), .scalar(let b)):
            a.text == b.text && a.isSecret == b.isSecret && a.isPlain == b.isPlain
        case (.list(let a), .list(let b)): a.elementsEqual(b) { $0.says($1) }
        case (.map(let a), .map(let b)): a.elementsEqual(b) { $0.key == $1.key && $0.value.says($1.value) }
        default: false
        }
    }
}
