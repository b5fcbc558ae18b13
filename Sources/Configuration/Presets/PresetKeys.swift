extension Preset {
    /// What may be written beside its name: the settings, `url`, and the keys of its kind of destination but for
    /// the one that says what it is.
    func keys(_ section: Section<DestinationDraft>) -> [FieldDescription] {
        let settings = settings.map { setting in
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
        let others = section.describe(DestinationDraft()).filter { field in
            DestinationKind(rawValue: field.name) == nil && !settings.contains { $0.name == field.name }
        }
        return settings + url + others
    }
}

extension Variant {
    /// The keys of a destination that names this preset, a service that is spoken to over HTTP.
    init(_ preset: Preset) {
        let keys = preset.keys(.destination(.http))
        let own = preset.settings.count + (preset.settings.contains { $0.name == "url" } ? 0 : 1)
        self.init(key: "preset", value: preset.name, own: Array(keys.prefix(own)), shared: Array(keys.dropFirst(own)))
    }
}
