/// Settings that differ from given ones in one value each, in ways that plugins do not expect.
package enum UnusualSettings {
    /// - Parameter settings: the JSON text of an object. Paths are left alone.
    package static func variants(of settings: String) -> [String] {
        guard case .object(let object)? = try? SettingsValue(json: settings) else { return [] }
        var variants = [SettingsValue.object([:]).json]
        for (name, value) in object.sorted(by: { $0.key < $1.key }) {
            for other in others(value) {
                var changed = object
                changed[name] = other
                variants.append(SettingsValue.object(changed).json)
            }
            var without = object
            without[name] = nil
            variants.append(SettingsValue.object(without).json)
        }
        return variants
    }

    private static func others(_ value: SettingsValue) -> [SettingsValue] {
        switch value {
        case .string(let text) where text.hasPrefix("/"): []
        case .string: [.string(""), .string(String(repeating: "x", count: 5000)), .string("ä\n\u{1}\"%s"), .null]
        case .number: [.number(0), .number(-1), .number(9_007_199_254_740_991), .number(1e300), .null]
        case .boolean(let boolean): [.boolean(!boolean)]
        case .array: [.array([])]
        case .object: [.object([:])]
        case .null: []
        }
    }
}
