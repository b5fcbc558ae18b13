/// A part of a YAML document with its place. Unlike Yams' nodes it has no aliases (they are expanded) and no merge keys
/// (they are applied), and every key has a place.
package struct YAMLNode: Sendable {
    package enum Content: Sendable {
        case scalar(YAMLScalar)
        case map([YAMLEntry])
        case list([YAMLNode])
    }

    package var content: Content
    /// The place of the first line; for an empty value, that of its key.
    package var place: Place
    /// The file that holds the node. Relative paths are relative to this file.
    package var file: ConfigurationFile

    package init(content: Content, place: Place, file: ConfigurationFile) {
        self.content = content
        self.place = place
        self.file = file
    }

    /// The kind of node, for "expected …, found …".
    package var found: String {
        switch content {
        case .scalar(let scalar): scalar.isNull ? "nothing" : scalar.isSecret ? "a secret" : "a single value"
        case .map(let entries): entries.isEmpty ? "an empty map" : "a map"
        case .list(let items): items.isEmpty ? "an empty list" : "a list"
        }
    }

    package var isNull: Bool {
        if case .scalar(let scalar) = content { scalar.isNull } else { false }
    }

    package var scalar: YAMLScalar? {
        if case .scalar(let scalar) = content { scalar } else { nil }
    }

    /// A map's entries. A key without a value counts as an empty map.
    package var entries: [YAMLEntry]? {
        switch content {
        case .map(let entries): entries
        case .scalar(let scalar) where scalar.isNull: []
        default: nil
        }
    }

    /// A list's items. A key without a value counts as an empty list.
    package var items: [YAMLNode]? {
        switch content {
        case .list(let items): items
        case .scalar(let scalar) where scalar.isNull: []
        default: nil
        }
    }
}

package struct YAMLEntry: Sendable {
    package var key: String
    package var place: Place
    package var value: YAMLNode
    /// An error in the value was reported, so the result is not what the user meant.
    package var isBroken = false

    package init(key: String, place: Place, value: YAMLNode) {
        self.key = key
        self.place = place
        self.value = value
    }
}

package struct YAMLScalar: Sendable {
    /// The hint for a secret in the wrong place.
    package static let whereSecretsAre =
        "secrets are allowed in URLs, in header values, in mappings and in a plugin's settings"

    package enum Style: Sendable { case plain, singleQuoted, doubleQuoted, literal, folded }

    package var text: String
    package var style: Style
    /// `!secret NAME`; the text is the name.
    package var isSecret = false
    /// An error in the scalar was reported (it has an unknown tag), so nothing more is reported about it.
    package var isReported = false
    /// The scalar's start in the file, for finding places inside it.
    package var line: Int
    package var column: Int

    package init(text: String, style: Style, isSecret: Bool = false, line: Int, column: Int) {
        self.text = text
        self.style = style
        self.isSecret = isSecret
        self.line = line
        self.column = column
    }

    package var isPlain: Bool { style == .plain && !isSecret }

    /// YAML 1.2 core schema.
    package var isNull: Bool {
        isPlain && !isReported && (text.isEmpty || ["~", "null", "Null", "NULL"].contains(text))
    }

    /// YAML 1.2 core schema: `yes` and `on` are text.
    package var boolean: Bool? {
        guard isPlain else { return nil }
        switch text {
        case "true", "True", "TRUE": return true
        case "false", "False", "FALSE": return false
        default: return nil
        }
    }
}
