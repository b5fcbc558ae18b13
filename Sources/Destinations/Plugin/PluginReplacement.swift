import Platform
import Synchronization

/// Finds out whether a plugin's file is another one than the one that was loaded, or that could not be loaded. Any
/// thread.
package final class PluginReplacement: Sendable {
    private let plugin: String
    private let directories: [String]
    /// The file that was loaded last, or was tried; nil: there was none.
    private let loaded: Mutex<TrustedFile.Identity?>

    init(ofPlugin plugin: String, in directories: [String]) {
        self.plugin = plugin
        self.directories = directories
        loaded = Mutex(Self.identity(plugin, directories))
    }

    /// A removed file is no replacement.
    package var isThere: Bool {
        guard let current = Self.identity(plugin, directories) else { return false }
        return loaded.withLock { $0 != current }
    }

    /// Notes the file that is there now, which may be one that cannot be opened.
    func note() {
        let current = Self.identity(plugin, directories)
        loaded.withLock { $0 = current }
    }

    /// Notes the file that is being loaded.
    func note(_ opened: TrustedFile.Identity) { loaded.withLock { $0 = opened } }

    private static func identity(_ plugin: String, _ directories: [String]) -> TrustedFile.Identity? {
        PluginFile.path(ofPlugin: plugin, in: directories).flatMap { TrustedFile.identity(of: $0) }
    }
}
