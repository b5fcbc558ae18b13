import Configuration
import Daemon
import Destinations

extension HTTPRequestPreview {
    /// Its headers for looking at: what is encoded of a secret's stand-in tells nobody anything.
    var shownHeaders: [HTTPOptions.Header] {
        guard let credentials, credentials.contains("<secret ") else { return headers }
        return headers.map { $0.name == "Authorization" ? .init(name: $0.name, value: "Basic base64(\(credentials))") : $0 }
    }
}

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
