import Events

/// What may be written as the value of a setting, for whoever reads it, checks it or describes it to
/// an editor.
package indirect enum SettingShape: Sendable {
    case flag
    case integer(ClosedRange<Int>)
    case number(ClosedRange<Double>)
    /// A number of bytes.
    case size(ClosedRange<Int>)
    case duration(ClosedRange<Duration>)
    /// One of these words.
    case choice([String])
    /// One line of text; what it is, for messages: "the name of a field".
    case text(String)
    /// Text of several lines in this language.
    case script(String)
    /// A field of the event, as in filters.
    case path
    case filter
    /// A value to write into events: `ValueTemplate`.
    case template
    /// `!secret NAME`.
    case secret
    /// At least one of these.
    case list(of: SettingShape)
    /// Names or paths of the user's, each with a value; at least one.
    case map(keys: MapKeys, of: SettingShape)
    /// Known keys. A value that is no map stands for the key `shorthand`.
    case record([SettingDescription], shorthand: String?)

    package enum MapKeys: Sendable {
        case paths
        /// What they are, for messages: "the name of an event".
        case text(String)
    }
}

/// A setting as documentation, editors and a JSON Schema want to know it.
package struct SettingDescription: Sendable {
    package var name: String
    package var shape: SettingShape
    /// One line.
    package var summary: String
    package var isRequired: Bool
    /// As one would write it; nil: none.
    package var defaultText: String?
}

/// A value that was read by a shape and fits it.
package indirect enum SettingValue: Sendable {
    case flag(Bool)
    case integer(Int)
    case number(Double)
    case duration(Duration)
    case text(String)
    case script(ScriptText)
    case path(FieldPath)
    case filter(Filter)
    case template(ValueTemplate)
    case secret(SecretText)
    case list([SettingValue])
    case map([MapEntry])
    /// Those that were given.
    case record([String: SettingValue])

    package struct MapEntry: Sendable {
        /// As written.
        package var key: String
        /// Of a map whose keys are paths.
        package var path: FieldPath?
        package var value: SettingValue

        package init(key: String, path: FieldPath?, value: SettingValue) {
            self.key = key
            self.path = path
            self.value = value
        }
    }
}

/// A script, and where it stands, so that what happens in it can be told by the file's own lines.
package struct ScriptText: Sendable, Equatable {
    package var text: String
    package var file: String
    /// For each of its lines, the file's line that it begins in, from 1. They need not follow one
    /// another: YAML folds lines, and a line feed may be written `\n`.
    package var lines: [Int]

    package init(_ text: String, file: String, lines: [Int]) {
        self.text = text
        self.file = file
        self.lines = lines
    }
}

/// A secret's value, which no description or dump shows.
package struct SecretText: Sendable, CustomStringConvertible, CustomReflectable {
    let value: String

    package init(_ value: String) { self.value = value }

    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
