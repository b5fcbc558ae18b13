/// What a plugin says about itself. Its name, version and summary are printable, and no longer than the interface
/// permits: they are shown to the operator.
package struct PluginDescription: Sendable {
    /// The absolute path of its file.
    package let path: String
    package let name: String
    package let version: String
    package let summary: String
    /// The version of the interface that it was compiled with.
    package let abi: (major: UInt16, minor: UInt16)
    /// nil: it is no sink.
    package let sink: PluginSettings?
    /// nil: it is no source.
    package let source: PluginSettings?

    /// - Parameters:
    ///   - sink: the schema and the needs as a sink; nil: it is none.
    ///   - source: the same as a source.
    init(
        path: String, name: String, version: String, summary: String, abi: (major: UInt16, minor: UInt16),
        sink: (schema: String?, needs: String?)?, source: (schema: String?, needs: String?)?
    ) {
        let name = PluginText.printable(name, limit: 64)
        self.path = path
        self.name = name
        self.version = PluginText.printable(version, limit: 64)
        self.summary = PluginText.printable(summary, limit: 256)
        self.abi = abi
        let plugin = "\(name) (\(path))"
        self.sink = sink.map { PluginSettings(schema: $0.schema, needs: $0.needs, plugin: plugin) }
        self.source = source.map { PluginSettings(schema: $0.schema, needs: $0.needs, plugin: plugin) }
    }

    package var roles: [PluginRole] { (sink == nil ? [] : [.sink]) + (source == nil ? [] : [.source]) }

    /// The plugin's settings in this role.
    /// - Throws: if it does not have the role.
    package func settings(as role: PluginRole) throws(PluginError) -> PluginSettings {
        switch role {
        case .sink:
            if let sink { return sink }
            throw PluginError(
                .incompatible,
                """
                the plugin \(name) (\(path)) is a source alone: it brings events in, and cannot be a destination; \
                configure it below sources:
                """)
        case .source:
            if let source { return source }
            throw PluginError(
                .incompatible,
                """
                the plugin \(name) (\(path)) is a sink alone: it takes events, and cannot be a source; configure it \
                below destinations:
                """)
        }
    }
}
