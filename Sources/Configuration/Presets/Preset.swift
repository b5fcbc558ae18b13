import Routing

/// A service that somebody has described: a destination as one would write it, with settings in place of
/// what differs from user to user.
package struct Preset: Sendable {
    package struct Setting: Sendable {
        /// The key that a user writes.
        package var name: String
        /// One line.
        package var summary: String
        package var isRequired: Bool
        /// It has to be a `!secret`.
        package var isSecret: Bool
        package var defaultText: String?
        /// What may be written, and what it stands for; empty: anything that `pattern` matches.
        package var values: [(name: String, meaning: String)]
        package var pattern: String?
    }

    package var name: String
    /// As people call it, and as events call it in `integrations`.
    package var title: String
    /// One line.
    package var summary: String
    /// Where the service describes what it takes.
    package var documentation: String
    package var settings: [Setting]
    /// It comes with Penstock.
    package var isShipped: Bool
    /// The file as written, comments included.
    package var text: String
}

/// A preset while it is read.
struct PresetDraft: Sendable {
    var title = ""
    var summary = ""
    var documentation = ""
    var settings: [Located<PresetSettingDraft>] = []
    var destination = YAMLNode(
        content: .map([]), place: Place(file: ""), file: ConfigurationFile(path: "", text: ""))
}

struct PresetSettingDraft: Sendable {
    var summary = ""
    var isRequired = false
    var isSecret = false
    var defaultText: String?
    var values: [PresetValue] = []
    var pattern: TextPattern?
}

struct PresetValue: Sendable {
    var name: String
    var meaning: String
}

/// A preset's file.
extension Section where Target == PresetDraft {
    static let preset = Section([
        Field("title", \.title, .word("text"), required: true, "what the service is called, as in an event's integrations"),
        Field("description", \.summary, .word("text"), required: true, "what it takes, in a line"),
        Field("documentation", \.documentation, .word("a URL"), "where the service describes it"),
        Field("settings", \.settings, .presetSettings, "keys that a user gives, written {{ setting.NAME }} below destination"),
        Field("destination", \.destination, .node, required: true, "the keys of a destination"),
    ])
}

extension Section where Target == PresetSettingDraft {
    static let presetSetting = Section([
        Field("description", \.summary, .word("text"), required: true, "what it is, in a line"),
        Field("required", \.isRequired, .flag, "whether it has to be given"),
        Field("secret", \.isSecret, .flag, "whether it has to be a !secret"),
        Field("default", \.defaultText, .word("text"), default: "none", "what it is if it is not given"),
        Field("values", \.values, .presetValues, "what may be written: a list, or a map to what each stands for"),
        Field("pattern", \.pattern, .pattern, default: "any", "a regular expression (RE2) that its whole text has to match"),
    ])
}

extension Kind where Value == YAMLNode {
    /// To be read later.
    static var node: Kind { Kind(.anything) { node, _, _ in node } }
}

extension Kind where Value == [Located<PresetSettingDraft>] {
    static var presetSettings: Kind {
        .named("setting", PresetSettingDraft(), keys: .presetSetting) { _ in (.presetSetting, { _ in nil }) }
    }
}

extension Kind where Value == [PresetValue] {
    static var presetValues: Kind {
        Kind(.either([.list(of: .text("a value")), .map(of: .text("what it stands for"))])) { node, key, diagnostics in
            if case .list(let items) = node.content {
                return items.compactMap { item in
                    plainText(item, key, "a value", diagnostics).map { PresetValue(name: $0, meaning: $0) }
                }
            }
            guard case .map(let entries) = node.content else {
                diagnostics.error(at: node.place, "\(quoted(key)) has to be a list or a map, not \(node.found)")
                return nil
            }
            return entries.compactMap { entry in
                plainText(entry.value, entry.key, "what the value stands for", diagnostics).map { PresetValue(name: entry.key, meaning: $0) }
            }
        }
    }
}
