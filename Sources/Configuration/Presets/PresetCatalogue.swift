import ConfigurationLanguage
import Foundation
import Presets
import Routing
import Spelling

/// The presets that there are: those that come with Penstock, and those in `presets/` beside the
/// configuration's file. Of the same name, the user's counts: a service that a later Penstock knows must
/// not break a configuration that knew it before.
package struct PresetCatalogue {
    /// The user's own; nil: a configuration that is no file has none.
    private let directory: String?
    private let diagnostics: Diagnostics
    /// Each is read once, however many destinations name it.
    private let known = Known()

    private final class Known {
        var presets: [String: (preset: Preset, draft: PresetDraft)?] = [:]
        var files: [String] = []
    }

    static let shippedNames = ShippedPresets.all.map(\.name)

    init(besides file: String?, _ diagnostics: Diagnostics) {
        directory = file.map { ConfigurationFile.directory(of: $0) + "/presets" }
        self.diagnostics = diagnostics
    }

    private var ownNames: [String] {
        let files = directory.flatMap { try? FileManager.default.contentsOfDirectory(atPath: $0) } ?? []
        return files.filter { $0.hasSuffix(".yaml") && !$0.hasPrefix(".") }.map { String($0.dropLast(".yaml".count)) }.sorted()
    }

    /// Every name, each once.
    var names: [String] { Set(Self.shippedNames + ownNames).sorted() }

    /// The user's own that were read.
    var readFiles: [String] { known.files }

    /// nil: there is none of that name, which is not reported; or its file cannot be understood, which is.
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
            diagnostics.error(at: Place(file: file.path), "there is nothing in it", hint: "see penstock presets show mixpanel")
            return nil
        }
        var draft = PresetDraft()
        let errors = diagnostics.errorCount
        Section.preset.read(root, named: "the preset \(quoted(name))", into: &draft, diagnostics)
        guard diagnostics.errorCount == errors else { return nil }
        let settings = draft.settings.map { located in
            let setting = located.draft
            return Preset.Setting(
                name: located.name, summary: setting.summary, isRequired: setting.isRequired, isSecret: setting.isSecret,
                defaultText: setting.defaultText, values: setting.values.map { ($0.name, $0.meaning) }, pattern: setting.pattern?.text)
        }
        let preset = Preset(
            name: name, title: draft.title, summary: draft.summary, documentation: draft.documentation, settings: settings,
            isShipped: isShipped, text: file.text)
        return (preset, draft)
    }

    /// Whether it is there, understood or not.
    func has(_ name: String) -> Bool { names.contains(name) }

    private func file(of name: String) -> (file: ConfigurationFile, isShipped: Bool)? {
        if let directory, ownNames.contains(name) {
            let path = "\(directory)/\(name).yaml"
            known.files.append(path)
            return ConfigurationFile.read(path, diagnostics).map { ($0, false) }
        }
        guard let shipped = ShippedPresets.all.first(where: { $0.name == name }) else { return nil }
        // Not a path that anybody could take for a file of theirs.
        return (ConfigurationFile(path: "<preset \(name)>", text: String(decoding: shipped.text, as: UTF8.self)), true)
    }

    // MARK: For whoever shows them

    /// All that can be understood, in the order of their names, and what is wrong with the others.
    /// - Parameter file: the configuration's.
    package static func list(besides file: String?) -> (presets: [Preset], diagnostics: [Diagnostic]) {
        let diagnostics = Diagnostics()
        let catalogue = PresetCatalogue(besides: file, diagnostics)
        return (catalogue.names.compactMap { catalogue.read($0)?.preset }, diagnostics.list)
    }

    /// Those that come with Penstock.
    package static let shipped: [Preset] = list(besides: nil).presets

    /// The one that was probably meant by a name that none has.
    package static func nearest(to name: String, among presets: [Preset]) -> String? { NearestName.find(name, among: presets.map(\.name)) }

    /// A shipped one that a user's of the same name stands in for.
    package static func isReplaced(_ preset: Preset) -> Bool { !preset.isShipped && shippedNames.contains(preset.name) }
}
