import Assembly
import DaemonConfiguration
import Destinations

extension HTTPRequestPreview {
    /// The headers for printing. Basic credentials with a secret's placeholder are shown before base64 encoding, where
    /// the placeholder is readable.
    var shownHeaders: [HTTPOptions.Header] {
        guard let credentials, credentials.contains("<secret ") else { return headers }
        return headers.map {
            $0.name == "Authorization" ? .init(name: $0.name, value: "Basic base64(\(credentials))") : $0
        }
    }
}

extension ConfigurationLoader {
    /// A loader for configurations that are inspected but not applied. It reads no secret.
    /// - Parameter secrets: values of secrets by name. All others get a placeholder with their name.
    package static func withStandIns(
        _ secrets: [String: String] = [:], pluginDirectories: [String] = Installation.pluginDirectories
    ) -> ConfigurationLoader {
        var loader = ConfigurationLoader(pluginDirectories: pluginDirectories)
        loader.secretStandIn = { secrets[$0] ?? "<secret \($0)>" }
        return loader
    }
}
