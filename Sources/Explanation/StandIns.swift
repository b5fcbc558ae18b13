import Configuration
import Daemon

extension ConfigurationLoader {
    /// For configurations that are looked at, not applied: no secret is read.
    /// - Parameter secrets: what stands for those named here; the others show their names.
    package static func withStandIns(
        _ secrets: [String: String] = [:], pluginDirectories: [String] = Installation.pluginDirectories
    ) -> ConfigurationLoader {
        var loader = ConfigurationLoader(pluginDirectories: pluginDirectories)
        loader.secretStandIn = { secrets[$0] ?? "<secret \($0)>" }
        return loader
    }
}
