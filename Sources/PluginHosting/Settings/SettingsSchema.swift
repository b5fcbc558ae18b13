import NameSuggestion

/// The subset of JSON Schema for plugin settings; `penstock_plugin.h` lists the keywords. An unknown keyword is an
/// error of the plugin: ignoring it would leave its rule unchecked.
///
/// Messages name the setting and its valid values, never the given value, which may be a secret.
package struct SettingsSchema {
    private let root: SettingsValue

    private static let keywords: Set<String> = [
        "type", "properties", "required", "additionalProperties", "items", "enum", "minimum", "maximum", "minLength",
        "maxLength", "format", "description", "title", "$schema",
    ]

    /// In bytes, and in levels of lists and objects: a schema is parsed in the daemon.
    package static let sizeLimit = 64 << 10
    private static let depthLimit = 32

    /// - Parameter plugin: the plugin's name and path, for messages.
    package init(_ text: String, of plugin: String) throws(PluginError) {
        let root: SettingsValue
        do throws(SettingsValue.Problem) {
            guard text.utf8.count <= Self.sizeLimit else { throw .tooLarge }
            root = try SettingsValue(json: text, maximumDepth: Self.depthLimit)
            guard case .object = root else { throw .notJSON }
        } catch {
            let problem =
                switch error {
                case .notJSON: "is not a JSON object: the plugin's author must fix it"
                case .tooLarge:
                    "has more than 64 KiB or \(Self.depthLimit) levels: the plugin's author must shorten it"
                }
            throw PluginError(.incompatible, "the settings schema of the plugin \(plugin) \(problem)")
        }
        if let keyword = Self.unknownKeyword(in: root) {
            throw PluginError(
                .incompatible,
                """
                the settings schema of the plugin \(plugin) uses "\(keyword)", which Penstock does not \
                support: the plugin's author must remove it
                """
            )
        }
        self.root = root
    }

    /// All violations.
    package func violations(in settings: String) -> [SettingsViolation] {
        guard let value = try? SettingsValue(json: settings) else {
            return [SettingsViolation([], "is not valid JSON")]
        }
        var found: [SettingsViolation] = []
        Self.check(value, against: root, at: [], &found)
        return found
    }

    /// The values of top-level settings whose schema has `"format": "path"`.
    package func paths(in settings: String) -> [(name: String, path: String)] {
        guard case .object(let schema) = root, case .object(let properties)? = schema["properties"],
            case .object(let object)? = try? SettingsValue(json: settings)
        else { return [] }
        return object.sorted { $0.key < $1.key }.compactMap { name, value in
            guard case .string(let path) = value, !path.isEmpty, case .object(let property)? = properties[name],
                property["format"] == .string("path")
            else { return nil }
            return (name, path)
        }
    }

    /// The settings with relative paths made absolute. Applies to top-level strings whose schema has `"format":
    /// "path"`.
    /// - Parameter directory: the absolute directory of the file that contains the settings.
    package func resolvingPaths(in settings: String, from directory: String) -> String {
        guard case .object(var object)? = try? SettingsValue(json: settings) else { return settings }
        var isChanged = false
        for (name, path) in paths(in: settings) where !path.hasPrefix("/") {
            object[name] = .string(directory + "/" + path)
            isChanged = true
        }
        return isChanged ? SettingsValue.object(object).json : settings
    }

    private static func unknownKeyword(in schema: SettingsValue) -> String? {
        guard case .object(let object) = schema else { return nil }
        if let keyword = object.keys.filter({ !keywords.contains($0) }).min() { return keyword }
        if case .object(let properties)? = object["properties"] {
            for (_, property) in properties.sorted(by: { $0.key < $1.key }) {
                if let keyword = unknownKeyword(in: property) { return keyword }
            }
        }
        return object["items"].flatMap(unknownKeyword)
    }

    private static func check(
        _ value: SettingsValue, against schema: SettingsValue, at path: [String], _ found: inout [SettingsViolation]
    ) {
        guard case .object(let schema) = schema else { return }
        if let types = words(schema["type"]), !types.contains(where: { fits(value, $0) }) {
            found.append(
                SettingsViolation(
                    path, "must be of type \(types.joined(separator: " or ")), but is of type \(value.type)"))
            return
        }
        if case .array(let choices)? = schema["enum"], !choices.contains(value) {
            found.append(SettingsViolation(path, "must be one of \(list(choices.map(\.text)))"))
        }
        switch value {
        case .number(let number): checkNumber(number, schema, path, &found)
        case .string(let string): checkString(string, schema, path, &found)
        case .object(let object): checkObject(object, schema, path, &found)
        case .array(let items):
            guard let item = schema["items"] else { return }
            for (index, value) in items.enumerated() { check(value, against: item, at: path + ["[\(index)]"], &found) }
        case .null, .boolean: break
        }
    }

    private static func checkNumber(
        _ number: Double, _ schema: [String: SettingsValue], _ path: [String], _ found: inout [SettingsViolation]
    ) {
        if case .number(let least)? = schema["minimum"], number < least {
            found.append(SettingsViolation(path, "must be at least \(SettingsValue.number(least).text)"))
        }
        if case .number(let most)? = schema["maximum"], number > most {
            found.append(SettingsViolation(path, "must be at most \(SettingsValue.number(most).text)"))
        }
    }

    private static func checkString(
        _ string: String, _ schema: [String: SettingsValue], _ path: [String], _ found: inout [SettingsViolation]
    ) {
        let length = Double(string.unicodeScalars.count)
        if case .number(let least)? = schema["minLength"], length < least {
            found.append(
                SettingsViolation(
                    path,
                    least == 1
                        ? "must not be empty" : "must have at least \(SettingsValue.number(least).text) characters"))
        }
        if case .number(let most)? = schema["maxLength"], length > most {
            found.append(SettingsViolation(path, "must have at most \(SettingsValue.number(most).text) characters"))
        }
    }

    private static func checkObject(
        _ object: [String: SettingsValue], _ schema: [String: SettingsValue], _ path: [String],
        _ found: inout [SettingsViolation]
    ) {
        var known: [String: SettingsValue] = [:]
        if case .object(let properties)? = schema["properties"] { known = properties }
        for name in words(schema["required"]) ?? [] where object[name] == nil {
            let summary = known[name].flatMap { schema -> String? in
                if case .object(let object) = schema, case .string(let text)? = object["description"] {
                    text
                } else {
                    nil
                }
            }
            found.append(SettingsViolation(path + [name], "is required", hint: summary.map { "add \(name): \($0)" }))
        }
        for (name, value) in object.sorted(by: { $0.key < $1.key }) {
            if let property = known[name] {
                check(value, against: property, at: path + [name], &found)
            } else if case .boolean(false)? = schema["additionalProperties"] {
                let names = known.keys.sorted()
                found.append(
                    SettingsViolation(
                        path + [name], "is not a setting of this plugin", isOfKey: true,
                        hint: NearestName.find(name, among: names).map { "did you mean \"\($0)\"?" }
                            ?? (names.isEmpty ? "it takes none" : "it takes \(Self.list(names))")))
            }
        }
    }

    /// The first of many.
    private static func list(_ words: [String]) -> String {
        words.prefix(20).joined(separator: ", ") + (words.count > 20 ? " and \(words.count - 20) more" : "")
    }

    /// A string or a list of strings.
    private static func words(_ value: SettingsValue?) -> [String]? {
        switch value {
        case .string(let word)?: [word]
        case .array(let items)?:
            items.compactMap { item in
                if case .string(let word) = item { word } else { nil }
            }
        default: nil
        }
    }

    private static func fits(_ value: SettingsValue, _ type: String) -> Bool {
        value.type == type || type == "number" && value.type == "integer"
    }
}
