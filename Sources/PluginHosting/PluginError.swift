/// Why a plugin can't be used, or its own error text. Says which plugin, and what to do next.
package struct PluginError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable {
        /// No file of that name in the plugin directories.
        case notFound
        /// Another user could change the file or a directory above it.
        case notTrusted
        /// The loader rejects it, or it is not a sink plugin.
        case notLoadable
        /// It was built for another version of the interface, or violates the interface.
        case incompatible
        /// The settings don't match its schema.
        case settings
        /// The plugin reported an error of create, connect or flush.
        case failed
        /// Its process could not be started.
        case notStarted
    }

    package var code: Code
    /// The message for the operator.
    package var description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        // It may hold the plugin's own words.
        self.description = PluginText.printable(description, limit: 4096)
    }
}
