/// Why a plugin cannot be used, or what it said when it failed: which, and what to do next.
package struct PluginError: Error, Sendable, Equatable, CustomStringConvertible {
    package enum Code: Sendable {
        /// No file of that name below the plugin directories.
        case notFound
        /// The file, or a directory above it, could be changed by somebody else.
        case notTrusted
        /// The loader does not take it, or it is no sink plugin.
        case notLoadable
        /// It was made for another version of the interface, or breaks it.
        case incompatible
        /// Its settings do not fit its schema.
        case settings
        /// The plugin itself said so: it could not be created, connected, flushed.
        case failed
    }

    package var code: Code
    /// Sentences for an operator.
    package var description: String

    package init(_ code: Code, _ description: String) {
        self.code = code
        self.description = description
    }
}
