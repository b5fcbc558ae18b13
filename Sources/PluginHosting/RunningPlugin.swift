import Platform
import Synchronization

/// What the daemon knows of the plugin of a destination or a source while it runs: what was loaded, its metrics, and
/// whether its file has been replaced. Any thread.
package final class RunningPlugin: Sendable {
    package struct Facts: Sendable {
        package var name: String
        package var version: String
        /// The build id of its file, in hexadecimal; nil: it has none.
        package var build: String?
        package var metrics: PluginMetrics
    }

    private struct State {
        /// The file that was loaded last, or was tried; nil: there was none.
        var file: TrustedFile.Identity?
        var loaded: (name: String, version: String, build: String?)?
        var metrics: (@Sendable () -> PluginMetrics)?
    }

    private let plugin: String
    private let directories: [String]
    private let state: Mutex<State>

    package init(named plugin: String, in directories: [String]) {
        self.plugin = plugin
        self.directories = directories
        state = Mutex(State(file: Self.identity(plugin, directories)))
    }

    /// nil: it has not been loaded.
    package var facts: Facts? {
        let (loaded, metrics) = state.withLock { ($0.loaded, $0.metrics) }
        guard let loaded, let metrics else { return nil }
        return Facts(name: loaded.name, version: loaded.version, build: loaded.build, metrics: metrics())
    }

    /// Whether the file is another one than the one that was loaded, or that could not be loaded. A removed file is no
    /// replacement.
    package var isReplaced: Bool {
        guard let current = Self.identity(plugin, directories) else { return false }
        return state.withLock { $0.file != current }
    }

    /// Notes the file that is there now, which may be one that cannot be opened.
    package func noteFile() {
        let current = Self.identity(plugin, directories)
        state.withLock { $0.file = current }
    }

    /// Notes the file that is being loaded.
    package func note(_ opened: TrustedFile.Identity) { state.withLock { $0.file = opened } }

    /// Notes what was loaded.
    package func note(
        _ description: PluginDescription, build: String?, metrics: @escaping @Sendable () -> PluginMetrics
    ) {
        state.withLock {
            $0.loaded = (description.name, description.version, build)
            $0.metrics = metrics
        }
    }

    private static func identity(_ plugin: String, _ directories: [String]) -> TrustedFile.Identity? {
        PluginFile.path(ofPlugin: plugin, in: directories).flatMap { TrustedFile.identity(of: $0) }
    }
}
