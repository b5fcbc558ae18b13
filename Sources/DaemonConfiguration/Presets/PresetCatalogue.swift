import ConfigurationSyntax
import Foundation
import NameSuggestion
import Presets
import Routing

/// The available presets: those that ship with Penstock, and those in `presets/` beside the configuration file. If both
/// have a name, the user's preset applies: a service that a later Penstock adds must not break a configuration that
/// already defines it.
package struct PresetCatalogue {
    /// The directory of the user's presets; nil: a configuration that is not a file has none.
    private let directory: String?
    private let diagnostics: Diagnostics
    private let remembered: RememberedFiles
    /// Presets that were read. Each is read once, however many destinations name it.
    private let known = Known()

    private final class Known {
        var presets: [String: (preset: Preset, draft: PresetDraft)?] = [:]
        var files: [String] = []
        var texts: [ConfigurationText] = []
    }

    static let shippedNames = ShippedPresets.all.map(\.name)

    init(besides file: String?, _ diagnostics: Diagnostics, remembered: RememberedFiles = RememberedFiles()) {
        directory = file.map { ConfigurationFile.directory(of: $0) + "/presets" }
        self.remembered = remembered
        self.diagnostics = diagnostics
    }

    private var ownNames: [String] {
        let files =
            remembered.presets?.map { String($0.split(separator: "/").last ?? "") }
            ?? directory.flatMap { try? FileManager.default.contentsOfDirectory(atPath: $0) } ?? []
        return files.filter { $0.hasSuffix(".yaml") && !$0.hasPrefix(".") }.map { String($0.dropLast(".yaml".count)) }
            .sorted()
    }

    /// Every name, once.
    var names: [String] { Set(Self.shippedNames + ownNames).sorted() }

    /// The user's preset files that were read.
    var readFiles: [String] { known.files }

    /// The texts of these files, except of those that could not be read.
    var readTexts: [ConfigurationText] { known.texts }

    /// nil: no preset has this name, which is not reported, or its file is invalid, which is reported.
    func read(_ name: String) -> (preset: Preset, draft: PresetDraft)? {
        if let known = known.presets[name] { return known }
        let read = readFile(name)
        known.presets[name] = .some(read)
        return read
    }

    private func readFile(_ name: String) -> (preset: Preset, draft: PresetDraft)? {
        guard let (file, isShipped) = file(of: name) else { return nil }
        let root: YAMLNode
        switch YAMLComposer.compose(file, diagnostics) {
        case .root(let node): root = node
        case .broken: return nil
        case .empty:
            diagnostics.error(
                at: Place(file: file.path), "the file is empty", hint: "see penstock presets show mixpanel")
            return nil
        }
        var draft = PresetDraft()
        let errors = diagnostics.errorCount
        Section.preset.read(root, named: "the preset \(quoted(name))", into: &draft, diagnostics)
        guard diagnostics.errorCount == errors else { return nil }
        let settings = draft.settings.map { located in
            let setting = located.draft
            return Preset.Setting(
                name: located.name, summary: setting.summary, isRequired: setting.isRequired,
                isSecret: setting.isSecret,
                defaultText: setting.defaultText, values: setting.values.map { ($0.name, $0.meaning) },
                pattern: setting.pattern?.text)
        }
        let preset = Preset(
            name: name, title: draft.title, summary: draft.summary, documentation: draft.documentation,
            settings: settings,
            isShipped: isShipped, text: file.text)
        return (preset, draft)
    }

    /// Whether the preset exists, valid or not.
    func has(_ name: String) -> Bool { names.contains(name) }

    private func file(of name: String) -> (file: ConfigurationFile, isShipped: Bool)? {
        if let directory, ownNames.contains(name) {
            let path = "\(directory)/\(name).yaml"
            known.files.append(path)
            guard let file = remembered.read(path, diagnostics) else { return nil }
            known.texts.append(.init(kind: .preset, path: path, text: file.text))
            return (file, false)
        }
        guard let shipped = ShippedPresets.all.first(where: { $0.name == name }) else { return nil }
        // Not a path that could be mistaken for a user's file.
        return (ConfigurationFile(path: "<preset \(name)>", text: String(decoding: shipped.text, as: UTF8.self)), true)
    }

    // MARK: Listing

    /// All valid presets in name order, and the errors in the others.
    /// - Parameter file: the configuration file.
    package static func list(besides file: String?) -> (presets: [Preset], diagnostics: [Diagnostic]) {
        let diagnostics = Diagnostics()
        let catalogue = PresetCatalogue(besides: file, diagnostics)
        return (catalogue.names.compactMap { catalogue.read($0)?.preset }, diagnostics.list)
    }

    /// The presets that ship with Penstock.
    package static let shipped: [Preset] = list(besides: nil).presets

    /// The preset that an unknown name most likely meant.
    package static func nearest(to name: String, among presets: [Preset]) -> String? {
        NearestName.find(name, among: presets.map(\.name))
    }

    /// Whether a user's preset replaces a shipped one of the same name.
    package static func isReplaced(_ preset: Preset) -> Bool { !preset.isShipped && shippedNames.contains(preset.name) }
}
