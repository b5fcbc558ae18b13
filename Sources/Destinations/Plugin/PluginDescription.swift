/// What a plugin says about itself.
package struct PluginDescription: Sendable {
    /// The absolute path of its file.
    package var path: String
    package var name: String
    package var version: String
    package var summary: String
    /// The JSON Schema text of its settings; nil: any settings are valid.
    package var schema: String?
    /// What it uses beyond its own memory, in words (`needs` in penstock_plugin.h); nil: anything.
    package var needs: String?
    /// The version of the interface that it was compiled with.
    package var abi: (major: UInt16, minor: UInt16)

    /// The violations in these settings; empty: none.
    /// - Throws: if the plugin's schema is invalid.
    package func violations(inSettings settings: String) throws(PluginError) -> [SettingsViolation] {
        try parsedSchema()?.violations(in: settings) ?? []
    }

    /// The settings that are paths, as written.
    package func paths(inSettings settings: String) throws(PluginError) -> [(name: String, path: String)] {
        try parsedSchema()?.paths(in: settings) ?? []
    }

    /// The settings with relative paths made absolute, for settings that the schema declares as paths.
    package func resolvingPaths(inSettings settings: String, from directory: String) throws(PluginError) -> String {
        try parsedSchema()?.resolvingPaths(in: settings, from: directory) ?? settings
    }

    /// The settings for `create`: valid, with absolute paths.
    func checkedSettings(_ options: PluginDestinationOptions) throws(PluginError) -> String {
        let violations = try violations(inSettings: options.settings)
        guard violations.isEmpty else {
            throw PluginError(.settings, violations.prefix(10).map(\.description).joined(separator: "; "))
        }
        return try resolvingPaths(inSettings: options.settings, from: options.directory)
    }

    private func parsedSchema() throws(PluginError) -> SettingsSchema? {
        guard let schema else { return nil }
        return try SettingsSchema(schema, of: "\(name) (\(path))")
    }
}
