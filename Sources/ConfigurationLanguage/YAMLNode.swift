/// A piece of a YAML document and where it stands: Yams' node without its surprises (aliases are
/// expanded, merge keys applied, every key has its place).
package struct YAMLNode: Sendable {
    package enum Content: Sendable {
        case scalar(YAMLScalar)
        case map([YAMLEntry])
        case list([YAMLNode])
    }

    package var content: Content
    /// Of the first line; for an empty value, of its key.
    package var place: Place
    /// The file it stands in: paths are relative to it.
    package var file: ConfigurationFile

    package init(content: Content, place: Place, file: ConfigurationFile) {
        self.content = content
        self.place = place
        self.file = file
    }

    /// What it is, for "expected …, found …".
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

    /// A map's entries; a key without anything behind it counts as an empty map.
    package var entries: [YAMLEntry]? {
        switch content {
        case .map(let entries): entries
        case .scalar(let scalar) where scalar.isNull: []
        default: nil
        }
    }

    /// A list's items; a key without anything behind it counts as an empty list.
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
    /// Something in the value was reported: what was made of it is not what was meant.
    package var isBroken = false

    package init(key: String, place: Place, value: YAMLNode) {
        self.key = key
        self.place = place
        self.value = value
    }
}

package struct YAMLScalar: Sendable {
    /// For messages, where a secret stands and none may.
    package static let whereSecretsAre = "secrets are allowed in URLs, in header values, in mappings and in a plugin's settings"

    package enum Style: Sendable { case plain, singleQuoted, doubleQuoted, literal, folded }

    package var text: String
    package var style: Style
    /// `!secret NAME`; the text is the name.
    package var isSecret = false
    /// It has a tag that nobody knows; that was reported, so there is nothing more to say about it.
    package var isMistagged = false
    /// Where it begins in its file, for finding a place inside.
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
    package var isNull: Bool { isPlain && !isMistagged && (text.isEmpty || ["~", "null", "Null", "NULL"].contains(text)) }

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
