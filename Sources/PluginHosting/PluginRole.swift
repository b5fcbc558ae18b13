/// What a plugin is used as. One plugin may be both.
package enum PluginRole: String, Sendable, CaseIterable {
    case sink, source
}

/// A plugin's settings for one of its roles.
package struct PluginSettings: Sendable {
    /// The JSON Schema text of the settings; nil: any settings are valid.
    package var schema: String?
    /// What the plugin uses beyond its own memory, in words (`needs` in penstock_plugin.h); nil: anything.
    package var needs: String?
    /// The plugin's name and path, for messages.
    private let plugin: String

    init(schema: String?, needs: String?, plugin: String) {
        self.schema = schema
        self.needs = needs
        self.plugin = plugin
    }

    /// The violations in these settings; empty: none.
    /// - Throws: if the plugin's schema is invalid.
    package func violations(in settings: String) throws(PluginError) -> [SettingsViolation] {
        try parsedSchema()?.violations(in: settings) ?? []
    }

    /// The settings that are paths, as written.
    package func paths(in settings: String) throws(PluginError) -> [(name: String, path: String)] {
        try parsedSchema()?.paths(in: settings) ?? []
    }

    /// The settings with relative paths made absolute, for settings that the schema declares as paths.
    package func resolvingPaths(in settings: String, from directory: String) throws(PluginError) -> String {
        try parsedSchema()?.resolvingPaths(in: settings, from: directory) ?? settings
    }

    /// The settings for `create`: valid, with absolute paths.
    /// - Parameter directory: the absolute directory that relative paths start from.
    package func checked(_ settings: String, from directory: String) throws(PluginError) -> String {
        let violations = try violations(in: settings)
        guard violations.isEmpty else {
            throw PluginError(.settings, violations.prefix(10).map(\.description).joined(separator: "; "))
        }
        return try resolvingPaths(in: settings, from: directory)
    }

    private func parsedSchema() throws(PluginError) -> SettingsSchema? {
        guard let schema else { return nil }
        return try SettingsSchema(schema, of: plugin)
    }
}
