import DaemonConfiguration
import Routing

/// The settings of a destination that decide where its events are sent and how, and that no event decides.
enum TargetSettings {
    /// - Returns: one entry for each setting that differs.
    static func differing(
        _ old: Configuration.Destination.Kind, _ new: Configuration.Destination.Kind
    ) -> [DestinationPair.Setting] {
        let (before, after) = (settings(of: old), settings(of: new))
        // A repeated key (a header) is compared with the one of the same number.
        var keys: [String] = []
        for (key, _) in before + after where !keys.contains(key) { keys.append(key) }
        return keys.compactMap { key in
            let a = before.filter { $0.key == key }.map(\.text).joined(separator: "\n")
            let b = after.filter { $0.key == key }.map(\.text).joined(separator: "\n")
            guard a != b else { return nil }
            return DestinationPair.Setting(key: key, before: a.isEmpty ? nil : a, after: b.isEmpty ? nil : b)
        }
    }

    /// The name for the settings that `differing` does not list: timeouts, answers, limits of a process.
    static func rest(of kind: Configuration.Destination.Kind) -> String {
        switch kind {
        case .file: "rotation and retention"
        case .http: "connection and answers"
        case .plugin: "the plugin's process"
        }
    }

    /// Limits decide about events, so their effect is in the counts.
    static func withoutLimits(_ kind: Configuration.Destination.Kind) -> Configuration.Destination.Kind {
        guard case .http(var http) = kind else { return kind }
        http.limits.limits = []
        for index in http.alternatives.indices { http.alternatives[index].limits.limits = [] }
        return .http(http)
    }

    private static func settings(of kind: Configuration.Destination.Kind) -> [(key: String, text: String)] {
        switch kind {
        case .file(let file):
            var settings = [("file", file.path.text), ("compression", "\(file.compression)")]
            if let columns = file.columns { settings.append(("columns", columns.joined(separator: ", "))) }
            if let zone = file.timezone { settings.append(("timezone", zone)) }
            return settings
        case .http(let http):
            if http.alternatives.isEmpty { return request(http) }
            return http.alternatives.enumerated().flatMap { number, kind in
                request(kind).map { ("requests.\(number).\($0.key)", $0.text) }
            }
        case .plugin(let plugin):
            return [("plugin", plugin.plugin), ("settings", plugin.settingsText.description)]
        }
    }

    private static func request(_ http: Configuration.HTTP) -> [(key: String, text: String)] {
        var settings = [
            ("http", http.urlText.description), ("method", http.method.rawValue), ("format", http.format.rawValue),
            ("compression", http.compression.rawValue),
        ]
        for header in http.headers { settings.append(("headers.\(header.name)", header.text.description)) }
        if let proxy = http.proxyText { settings.append(("proxy", proxy.description)) }
        if let signature = http.signature { settings.append(("sign", signature.shown)) }
        if let authorization = http.authorization { settings.append(("auth", authorization.shown)) }
        return settings
    }
}

extension Configuration.HTTP.Signature {
    fileprivate var shown: String {
        switch self {
        case .hmac(let hmac): "hmac \(hmac.algorithm.rawValue) in \(hmac.header) with \(hmac.key)"
        case .cloudkit(let cloudkit): "cloudkit \(cloudkit.keyID) with \(cloudkit.key)"
        case .aws4(let aws):
            "aws4 \(aws.service) in \(aws.region)" + (aws.keys.map { " with \($0.id) \($0.key)" } ?? "")
        }
    }
}

extension Configuration.HTTP.Authorization {
    fileprivate var shown: String {
        let texts = [tokenURL, clientID, scope, issuer, subject, audience, keyID].compactMap(\.self)
        let secrets = [clientSecret, refreshToken, key, serviceAccount].compactMap { $0.map { "\($0)" } }
        return (["oauth2", grant.rawValue] + texts + secrets + parameters.map { "\($0.name)=\($0.value)" })
            .joined(separator: " ")
    }
}
