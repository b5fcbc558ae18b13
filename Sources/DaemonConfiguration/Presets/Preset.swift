import Routing

/// A description of a service: a destination as a user would write it, with settings in place of the parts that differ
/// between users.
package struct Preset: Sendable {
    package struct Setting: Sendable {
        /// The key that a user writes.
        package var name: String
        /// One line.
        package var summary: String
        package var isRequired: Bool
        /// The value must be a `!secret`.
        package var isSecret: Bool
        package var defaultText: String?
        /// The allowed values and their meanings; empty: any text that `pattern` matches.
        package var values: [(name: String, meaning: String)]
        package var pattern: String?
    }

    package var name: String
    /// The service's usual name, also used in an event's `integrations`.
    package var title: String
    /// One line.
    package var summary: String
    /// URL of the service's documentation.
    package var documentation: String
    package var settings: [Setting]
    /// The preset ships with Penstock.
    package var isShipped: Bool
    /// The file as written, comments included.
    package var text: String
}

/// A preset during reading.
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
        Field("title", \.title, .word("text"), required: true, "the service's name, as in an event's integrations"),
        Field("description", \.summary, .word("text"), required: true, "what the service receives, in one line"),
        Field("documentation", \.documentation, .word("a URL"), "URL of the service's documentation"),
        Field(
            "settings", \.settings, .presetSettings,
            "keys that a user gives, written {{ setting.NAME }} below destination"),
        Field("destination", \.destination, .node, required: true, "the keys of a destination"),
    ])
}

extension Section where Target == PresetSettingDraft {
    static let presetSetting = Section([
        Field("description", \.summary, .word("text"), required: true, "the setting's meaning, in one line"),
        Field("required", \.isRequired, .flag, "whether the setting is required"),
        Field("secret", \.isSecret, .flag, "whether the value must be a !secret"),
        Field("default", \.defaultText, .word("text"), default: "none", "the value if it is not given"),
        Field("values", \.values, .presetValues, "the allowed values: a list, or a map from each to its meaning"),
        Field(
            "pattern", \.pattern, .pattern, default: "any",
            "a regular expression (RE2) that the whole text must match"),
    ])
}

extension Kind where Value == YAMLNode {
    /// Any node, read later.
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
                diagnostics.error(at: node.place, "\(quoted(key)) must be a list or a map, not \(node.found)")
                return nil
            }
            return entries.compactMap { entry in
                plainText(entry.value, entry.key, "what the value stands for", diagnostics).map {
                    PresetValue(name: entry.key, meaning: $0)
                }
            }
        }
    }
}
