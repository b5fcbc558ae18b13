extension Preset {
    /// The keys allowed beside the preset's name: its settings, `url`, and the keys of its kind of destination except
    /// the one that selects the kind.
    func keys(_ section: Section<DestinationDraft>) -> [FieldDescription] {
        let settings = settings.map { setting in
            FieldDescription(
                name: setting.name,
                type: setting.values.isEmpty
                    ? .text(setting.isSecret ? "!secret NAME" : "text") : .choice(setting.values.map(\.name)),
                defaultText: setting.defaultText, summary: setting.summary, isRequired: setting.isRequired,
                isSupported: true)
        }
        // A preset without its own address declares `url` as a setting.
        let url =
            settings.contains { $0.name == "url" }
            ? []
            : [
                FieldDescription(
                    name: "url", type: .text("a URL"), defaultText: nil,
                    summary:
                        "a URL that replaces the preset's URL; the preset's path and query are kept if it has none",
                    isRequired: false, isSupported: true)
            ]
        let others = section.describe(DestinationDraft()).filter { field in
            DestinationKind(rawValue: field.name) == nil && !settings.contains { $0.name == field.name }
        }
        return settings + url + others
    }
}

extension Variant {
    /// The keys of a destination that names this preset. The preset describes a service reached over HTTP.
    init(_ preset: Preset) {
        let keys = preset.keys(.destination(.http))
        let own = preset.settings.count + (preset.settings.contains { $0.name == "url" } ? 0 : 1)
        self.init(key: "preset", value: preset.name, own: Array(keys.prefix(own)), shared: Array(keys.dropFirst(own)))
    }
}
