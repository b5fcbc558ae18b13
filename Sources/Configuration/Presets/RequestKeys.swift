/// Keys that each kind of request may have for itself, which has it in place of the destination's: a mapping,
/// a body, limits, how answers are read. What is written for all of them must reach at least one; a user's, beside
/// a preset, every one.
struct RequestKeys {
    static let names: Set<String> = Set(Section<DestinationDraft>.perRequest.map(\.name)).union(["mapping"])

    let diagnostics: Diagnostics

    /// A preset's requests, as they are beside a user's key: their own give way to it. Of several kinds of request,
    /// none can give way, since one mapping is not right for all, and to reach only some would be to ignore what
    /// the user wrote; unless theirs says the same. Names of headers are joined in each.
    func giveWay(_ requests: YAMLNode, to entry: YAMLEntry, of preset: String, joining: (YAMLNode, YAMLNode) -> YAMLNode) -> YAMLNode {
        guard Self.names.contains(entry.key), case .list(var items) = requests.content else { return requests }
        let own = items.compactMap { $0.entries?.first { $0.key == entry.key } }
        let isJoined = entry.key == "headers"
        guard isJoined || items.count == 1 || own.allSatisfy({ $0.value.says(entry.value) }) else {
            diagnostics.error(
                at: entry.place,
                "the preset \(quoted(preset)) has \(items.count) kinds of request, \(own.count) of them with \(entry.key) of their own, "
                    + "which this would not reach",
                hint: "write requests: with \(entry.key) for each; penstock presets show \(preset) prints the preset's")
            return requests
        }
        for i in items.indices {
            guard case .map(let keys) = items[i].content else { continue }
            items[i].content = .map(
                keys.compactMap { key in
                    guard key.key == entry.key else { return key }
                    return isJoined ? YAMLEntry(key: key.key, place: entry.place, value: joining(key.value, entry.value)) : nil
                })
        }
        var requests = requests
        requests.content = .list(items)
        return requests
    }

    /// Of a destination as its user writes it: a key of which no kind of request has any use.
    func checkUse(of entries: [YAMLEntry]) {
        guard case .list(let requests)? = entries.first(where: { $0.key == "requests" })?.value.content, !requests.isEmpty else { return }
        for entry in entries where Self.names.contains(entry.key) {
            guard requests.allSatisfy({ $0.entries?.contains { $0.key == entry.key } ?? false }) else { continue }
            diagnostics.error(
                at: entry.place, "each of the requests has \(entry.key) of its own, so that this is for none", hint: "remove one or the other")
        }
    }
}

extension YAMLNode {
    /// Whether it means the same, wherever it stands.
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
