import Events

/// The values that a setting accepts, for code that reads settings, checks them or describes them to an editor.
package indirect enum SettingShape: Sendable {
    case flag
    case integer(ClosedRange<Int>)
    case number(ClosedRange<Double>)
    /// A number of bytes.
    case size(ClosedRange<Int>)
    case duration(ClosedRange<Duration>)
    /// One of these words.
    case choice([String])
    /// One line of text. The string describes it in messages: "the name of a field".
    case text(String)
    /// Several lines of text in this language.
    case script(String)
    /// A field of the event, as in filters.
    case path
    case filter
    /// A template of a value to write into events: `ValueTemplate`.
    case template
    /// `!secret NAME`.
    case secret
    /// A list of at least one value.
    case list(of: SettingShape)
    /// A map from the user's own names or paths to values, with at least one entry.
    case map(keys: MapKeys, of: SettingShape)
    /// A map with known keys. Any other value stands for the key `shorthand`.
    case record([SettingDescription], shorthand: String?)

    package enum MapKeys: Sendable {
        case paths
        /// The string describes the keys in messages: "the name of an event".
        case text(String)
    }
}

/// A setting as documentation, editors and a JSON Schema need it.
package struct SettingDescription: Sendable {
    package var name: String
    package var shape: SettingShape
    /// One line.
    package var summary: String
    package var isRequired: Bool
    /// The default as a user writes it. Nil: no default.
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
    /// Holds only the settings that were given.
    case record([String: SettingValue])

    package struct MapEntry: Sendable {
        /// As written.
        package var key: String
        /// Set if the map's keys are paths.
        package var path: FieldPath?
        package var value: SettingValue

        package init(key: String, path: FieldPath?, value: SettingValue) {
            self.key = key
            self.path = path
            self.value = value
        }
    }
}

/// A script and its place, so that an error in it names the line of the file.
package struct ScriptText: Sendable, Equatable {
    package var text: String
    package var file: String
    /// For each line of the script, the line of the file where it starts, from 1. The lines need not be consecutive:
    /// YAML folds lines, and a line feed may be written `\n`.
    package var lines: [Int]

    package init(_ text: String, file: String, lines: [Int]) {
        self.text = text
        self.file = file
        self.lines = lines
    }
}

/// A secret's value. No description or dump shows it.
package struct SecretText: Sendable, CustomStringConvertible, CustomReflectable {
    let value: String

    package init(_ value: String) { self.value = value }

    package var description: String { "<secret>" }
    package var customMirror: Mirror { Mirror(self, children: []) }
}
