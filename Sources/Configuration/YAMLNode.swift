/// A piece of a YAML document and where it stands: Yams' node without its surprises (aliases are
/// expanded, merge keys applied, every key has its place).
struct YAMLNode: Sendable {
    enum Content: Sendable {
        case scalar(YAMLScalar)
        case map([YAMLEntry])
        case list([YAMLNode])
    }

    var content: Content
    /// Of the first line; for an empty value, of its key.
    var place: Place
    /// The file it stands in: paths are relative to it.
    var file: ConfigurationFile

    /// What it is, for "expected …, found …".
    var found: String {
        switch content {
        case .scalar(let scalar): scalar.isNull ? "nothing" : scalar.isSecret ? "a secret" : "a single value"
        case .map: "a map"
        case .list: "a list"
        }
    }

    var isNull: Bool {
        if case .scalar(let scalar) = content { scalar.isNull } else { false }
    }

    var scalar: YAMLScalar? {
        if case .scalar(let scalar) = content { scalar } else { nil }
    }

    /// A map's entries; a key without anything behind it counts as an empty map.
    var entries: [YAMLEntry]? {
        switch content {
        case .map(let entries): entries
        case .scalar(let scalar) where scalar.isNull: []
        default: nil
        }
    }

    /// A list's items; a key without anything behind it counts as an empty list.
    var items: [YAMLNode]? {
        switch content {
        case .list(let items): items
        case .scalar(let scalar) where scalar.isNull: []
        default: nil
        }
    }
}

struct YAMLEntry: Sendable {
    var key: String
    var place: Place
    var value: YAMLNode
}

struct YAMLScalar: Sendable {
    enum Style: Sendable { case plain, singleQuoted, doubleQuoted, literal, folded }

    var text: String
    var style: Style
    /// `!secret NAME`; the text is the name.
    var isSecret = false
    /// It has a tag that nobody knows; that was reported, so there is nothing more to say about it.
    var isMistagged = false
    /// Where it begins in its file, for finding a place inside.
    var line: Int
    var column: Int

    var isPlain: Bool { style == .plain && !isSecret }

    /// YAML 1.2 core schema.
    var isNull: Bool { isPlain && !isMistagged && (text.isEmpty || ["~", "null", "Null", "NULL"].contains(text)) }

    /// YAML 1.2 core schema: `yes` and `on` are text.
    var boolean: Bool? {
        guard isPlain else { return nil }
        switch text {
        case "true", "True", "TRUE": return true
        case "false", "False", "FALSE": return false
        default: return nil
        }
    }
}
