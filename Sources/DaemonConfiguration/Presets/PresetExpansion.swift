import ConfigurationSyntax
import Events
import NameSuggestion
import Routing

/// Expands `preset: NAME` before anything of the destination is read. The result has the preset's keys, with settings
/// filled in, and the user's keys, which take precedence.
///
/// - The named maps (`batch`, `headers`, `in_flight`, `rate_limit`, `retry`, `tls`, `dead_letters`) are joined key by
///   key.
/// - The user's `transforms` run before the preset's, which convert events to the service's format.
/// - Any other key of the user's replaces the preset's: `mapping`, `answers`, `limits`, `requests`, `where` … It also
///   replaces the key in each request if that makes sense; see `RequestKeys`.
/// - `url` replaces parts of each URL; see `PresetAddress`.
/// - Settings are filled in in the user's keys too, so that a part copied from the preset keeps its meaning.
///
/// Each key of the result keeps its own place, so that an error names the preset's file or the user's.
struct PresetExpansion {
    private static let joinedKeys: Set<String> = [
        "batch", "dead_letters", "headers", "in_flight", "rate_limit", "retry", "tls",
    ]
    private static let appended: Set<String> = ["transforms"]

    let catalogue: PresetCatalogue
    let diagnostics: Diagnostics

    /// The configuration with the preset of every destination expanded.
    func expand(_ root: YAMLNode) -> YAMLNode {
        guard case .map(var sections) = root.content,
            let index = sections.firstIndex(where: { $0.key == "destinations" }),
            case .map(let destinations) = sections[index].value.content
        else { return root }
        sections[index].value.content = .map(
            destinations.map { entry in
                var entry = entry
                entry.value = destination(entry)
                return entry
            })
        var root = root
        root.content = .map(sections)
        return root
    }

    private func destination(_ entry: YAMLEntry) -> YAMLNode {
        guard case .map(let entries) = entry.value.content else { return entry.value }
        RequestKeys(diagnostics: diagnostics).checkUse(of: entries)
        guard let key = entries.first(where: { $0.key == "preset" }) else { return entry.value }
        var whole = entry.value
        // Without the preset, the other keys cannot be checked.
        whole.content = .map([key])
        guard let name = plainText(key.value, "preset", "the name of a preset", diagnostics) else { return whole }
        guard let (preset, draft) = catalogue.read(name) else {
            if !catalogue.has(name) {
                diagnostics.error(
                    at: key.value.place, "there is no preset \(quoted(name))",
                    hint: NearestName.find(name, among: catalogue.names).map { "did you mean \(quoted($0))?" }
                        ?? "penstock presets list shows all presets; "
                        + "put your own presets into presets/\(name).yaml beside the configuration"
                )
            }
            return whole
        }
        if PresetCatalogue.isReplaced(preset) {
            diagnostics.warning(
                at: key.value.place,
                "presets/\(name).yaml replaces the shipped preset of the same name",
                hint: "if you want to use the shipped preset, give yours another name")
        }
        if let kind = entries.first(where: { DestinationKind(rawValue: $0.key) != nil }) {
            diagnostics.error(
                at: kind.place,
                "\(quoted(kind.key)) cannot be combined with a preset: the preset sets the kind of destination",
                hint: kind.key == "http" ? "write url: to send to another address" : "remove one of the two")
        }
        var filling = PresetFilling(preset: preset, diagnostics: diagnostics)
        filling.take(draft.settings, from: entries, of: entry)
        guard let given = filling.fill(draft.destination)?.entries else { return whole }
        RequestKeys(diagnostics: diagnostics).checkUse(of: given)
        let kind = given.lazy.compactMap { DestinationKind(rawValue: $0.key) }.first
        guard isDestination(given, kind, draft.destination, name) else { return whole }
        let own = entries.filter { own in
            own.key != "preset" && own.key != "url" && DestinationKind(rawValue: own.key) == nil
                && !preset.settings.contains { $0.name == own.key } && isKnown(own, beside: preset, kind, in: entry.key)
        }
        var result = join(given, own.map(filling.fill), preset: name)
        // A preset without its own address declares `url` as a setting.
        if let url = entries.first(where: { $0.key == "url" }), !preset.settings.contains(where: { $0.name == "url" }) {
            result = PresetAddress(url.value, diagnostics).map { $0.replacing(in: result) } ?? result
        }
        let kept = (draft.destination.entries ?? []).filter { preset in
            Self.joinedKeys.contains(preset.key) || !own.contains { $0.key == preset.key }
        }
        let unknown = Set((own + kept).filter { filling.isUnknown($0.value) }.map(\.key))
        result = result.compactMap { unknown.contains($0.key) ? Self.unchecked($0) : $0 }
        whole.content = .map([key] + result)
        return whole
    }

    private func isDestination(_ given: [YAMLEntry], _ kind: DestinationKind?, _ node: YAMLNode, _ name: String) -> Bool
    {
        if let other = given.first(where: { $0.key == "preset" }) {
            diagnostics.error(
                at: other.place, "a preset cannot use another preset",
                hint: "copy what it needs: penstock presets show \(other.value.scalar?.text ?? "NAME")")
            return false
        }
        if kind == nil {
            diagnostics.error(
                at: node.place, "the preset \(quoted(name)) needs one of file, http, plugin below \"destination\"",
                hint: "add http: URL, file: PATH or plugin: NAME")
        }
        return kind != nil
    }

    /// Whether a user's key is allowed beside this preset. Keys of other kinds of destination pass: the destination's
    /// reader reports them.
    private func isKnown(_ entry: YAMLEntry, beside preset: Preset, _ kind: DestinationKind?, in destination: String)
        -> Bool
    {
        let names = preset.keys(kind.map(Section.destination) ?? .kindless).map(\.name)
        guard !names.contains(entry.key), Section.elsewhere(entry.key, from: kind) == nil else { return true }
        diagnostics.error(
            at: entry.place, "unknown key \(quoted(entry.key)) in destination \(quoted(destination))",
            hint: NearestName.find(entry.key, among: names).map { "did you mean \(quoted($0))?" }
                ?? "the keys are \(names.joined(separator: ", "))")
        return false
    }

    /// Replaces a key whose value depends on an unknown setting. The error was reported, and nothing more can be
    /// checked. The key of the kind stays, since it determines which other keys are allowed.
    private static func unchecked(_ entry: YAMLEntry) -> YAMLEntry? {
        guard let kind = DestinationKind(rawValue: entry.key) else { return nil }
        guard kind == .http, case .scalar(var scalar) = entry.value.content else { return entry }
        var entry = entry
        scalar.text = "https://setting.example/"
        entry.value.content = .scalar(scalar)
        return entry
    }

    private func join(_ given: [YAMLEntry], _ own: [YAMLEntry], preset: String) -> [YAMLEntry] {
        var result = given
        if !own.contains(where: { $0.key == "requests" }),
            let index = result.firstIndex(where: { $0.key == "requests" })
        {
            let keys = RequestKeys(diagnostics: diagnostics)
            for entry in own where !entry.value.isNull {
                result[index].value = keys.giveWay(result[index].value, to: entry, of: preset, joining: Self.joined)
            }
        }
        for entry in own {
            guard let index = result.firstIndex(where: { $0.key == entry.key }) else {
                result.append(entry)
                continue
            }
            // The key's content is commented out. Nothing is added, and the preset's value is not lost.
            guard !entry.value.isNull else {
                if Self.joinedKeys.contains(entry.key) || Self.appended.contains(entry.key) { continue }
                let isList = result[index].value.items != nil
                diagnostics.error(
                    at: entry.place, "\(quoted(entry.key)) has no value, which would remove the preset's",
                    hint: "remove the key, or write its value" + (isList ? "; \(entry.key): [] is none" : ""))
                continue
            }
            switch (result[index].value.content, entry.value.content) {
            case (.map, .map) where Self.joinedKeys.contains(entry.key):
                result[index].place = entry.place
                result[index].value = Self.joined(result[index].value, entry.value)
            case (.list(let a), .list(let b)) where Self.appended.contains(entry.key):
                result[index].value.content = .list(b + a)
            default: result[index] = entry
            }
        }
        return result
    }

    /// The user's map, plus the members that only the preset's map has.
    private static func joined(_ given: YAMLNode, _ own: YAMLNode) -> YAMLNode {
        guard case .map(let a) = given.content, case .map(let b) = own.content else { return own }
        // Header names are case-insensitive.
        let kept = a.filter { member in !b.contains { $0.key.lowercased() == member.key.lowercased() } }
        var joined = own
        joined.content = .map(kept + b)
        return joined
    }
}
