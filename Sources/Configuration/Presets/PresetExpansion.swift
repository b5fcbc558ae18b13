import ConfigurationLanguage
import Events
import Routing
import Spelling

/// `preset: NAME` to what it stands for, before anything of the destination is read: the preset's keys with
/// the settings filled in, and the user's in place of those that both have.
///
/// - A map of named keys (`batch`, `headers`, `in_flight`, `rate_limit`, `retry`, `tls`, `dead_letters`) is joined key by key.
/// - The user's `transforms` come before the preset's, which bring an event into the service's form.
/// - Every other key of the user's replaces the preset's: `mapping`, `answers`, `limits`, `requests`, `where` …
/// - `url` replaces what it names of each address: see `PresetAddress`.
///
/// What comes of it has each key's own place, so that an error names the preset's file or the user's.
struct PresetExpansion {
    private static let joined: Set<String> = ["batch", "dead_letters", "headers", "in_flight", "rate_limit", "retry", "tls"]
    private static let appended: Set<String> = ["transforms"]

    let catalogue: PresetCatalogue
    let diagnostics: Diagnostics

    /// The configuration with every destination that names a preset written out.
    func expand(_ root: YAMLNode) -> YAMLNode {
        guard case .map(var sections) = root.content, let index = sections.firstIndex(where: { $0.key == "destinations" }),
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

    /// Of what is neither a key of a destination nor a setting, only here the settings are known to be meant.
    private func isKnown(_ key: YAMLEntry, of destination: String, settings: [String]) -> Bool {
        let keys = Set(DestinationKind.allCases.flatMap { Section.destination($0).fields.map(\.name) })
        guard !keys.contains(key.key) else { return true }
        let mine = settings.sorted() + ["url"]
        diagnostics.error(
            at: key.place, "unknown key \(quoted(key.key)) in destination \(quoted(destination))",
            hint: NearestName.find(key.key, among: mine + keys.sorted()).map { "did you mean \(quoted($0))?" }
                ?? "the preset's settings are \(mine.joined(separator: ", ")); beside them, the keys of an HTTP destination")
        return false
    }

    private func destination(_ entry: YAMLEntry) -> YAMLNode {
        guard case .map(let entries) = entry.value.content, let key = entries.first(where: { $0.key == "preset" }) else {
            return entry.value
        }
        var whole = entry.value
        // Without the preset, nothing can be said about the other keys.
        whole.content = .map([key])
        guard let name = plainText(key.value, "preset", "the name of a preset", diagnostics) else { return whole }
        guard let (preset, draft) = catalogue.read(name) else {
            if !catalogue.has(name) {
                diagnostics.error(
                    at: key.value.place, "there is no preset \(quoted(name))",
                    hint: NearestName.find(name, among: catalogue.names).map { "did you mean \(quoted($0))?" }
                        ?? "penstock presets list shows them; your own go into presets/\(name).yaml beside the configuration")
            }
            return whole
        }
        if PresetCatalogue.isReplaced(preset) {
            diagnostics.warning(
                at: key.value.place, "presets/\(name).yaml stands in for the preset of that name that comes with Penstock",
                hint: "give it another name if that is not what you want")
        }
        if let kind = entries.first(where: { DestinationKind(rawValue: $0.key) != nil }) {
            diagnostics.error(
                at: kind.place, "\(quoted(kind.key)) beside a preset, which says itself what kind of destination it is",
                hint: kind.key == "http" ? "write url: to send to another address" : "remove one of the two")
        }
        var filling = PresetFilling(preset: preset, diagnostics: diagnostics)
        filling.take(draft.settings, from: entries, of: entry)
        guard let given = filling.fill(draft.destination)?.entries else { return whole }
        let destination = entry.key
        let own = entries.filter { entry in
            entry.key != "preset" && entry.key != "url" && DestinationKind(rawValue: entry.key) == nil
                && !draft.settings.contains { $0.name == entry.key } && isKnown(entry, of: destination, settings: draft.settings.map(\.name))
        }
        var result = join(given, own)
        if let url = entries.first(where: { $0.key == "url" }) {
            result = PresetAddress(url.value, diagnostics).map { $0.replacing(in: result) } ?? result
        }
        whole.content = .map([key] + result)
        return whole
    }

    private func join(_ given: [YAMLEntry], _ own: [YAMLEntry]) -> [YAMLEntry] {
        var result = given
        for entry in own {
            guard let index = result.firstIndex(where: { $0.key == entry.key }) else {
                result.append(entry)
                continue
            }
            switch (result[index].value.content, entry.value.content) {
            case (.map(let a), .map(let b)) where Self.joined.contains(entry.key):
                // Names of headers are the same in any case.
                let kept = a.filter { member in !b.contains { $0.key.lowercased() == member.key.lowercased() } }
                result[index].place = entry.place
                result[index].value = entry.value
                result[index].value.content = .map(kept + b)
            case (.list(let a), .list(let b)) where Self.appended.contains(entry.key):
                result[index].value.content = .list(b + a)
            default: result[index] = entry
            }
        }
        return result
    }
}

extension Variant {
    /// The keys of a destination that names this preset: the settings, `url`, and those of an HTTP destination but for its address.
    init(_ preset: Preset) {
        let settings = preset.settings.map { setting in
            FieldDescription(
                name: setting.name,
                type: setting.values.isEmpty ? .text(setting.isSecret ? "!secret NAME" : "text") : .choice(setting.values.map(\.name)),
                defaultText: setting.defaultText, summary: setting.summary, isRequired: setting.isRequired,
                isSupported: true)
        }
        // One that has no address of its own has the setting.
        let url = settings.contains { $0.name == "url" } ? [] : [FieldDescription(
            name: "url", type: .text("a URL"), defaultText: nil,
            summary: "another address; without a path or a query, the preset's stay", isRequired: false, isSupported: true)]
        let others = Section.destination(.http).describe(DestinationDraft()).filter { field in
            field.name != "http" && !settings.contains { $0.name == field.name }
        }
        self.init(key: "preset", value: preset.name, own: settings + url, shared: others)
    }
}
