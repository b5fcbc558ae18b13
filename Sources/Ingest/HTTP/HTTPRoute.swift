import RequestBodies

/// What a request asks for, by its path.
enum HTTPRoute: Equatable {
    case tracking(TrackingEndpoint)
    /// OTLP/HTTP.
    case logs
    /// The settings that Segment's SDKs fetch when they start, for a write key.
    case settings(writeKey: [UInt8])
    case health
    case ready

    init?(path: ArraySlice<UInt8>) {
        if let endpoint = TrackingEndpoint(path: path.span) {
            self = .tracking(endpoint)
            return
        }
        switch String(decoding: path, as: UTF8.self) {
        case "/v1/logs": self = .logs
        case "/health": self = .health
        case "/ready": self = .ready
        case let text:
            let parts = text.split(separator: "/", omittingEmptySubsequences: false)
            guard parts.count == 5, parts[0].isEmpty, parts[1] == "v1", parts[2] == "projects", !parts[3].isEmpty,
                parts[4] == "settings"
            else { return nil }
            self = .settings(writeKey: Array(parts[3].utf8))
        }
    }

    /// The methods that it takes, as in the Allow field.
    var methods: String {
        switch self {
        case .tracking, .logs: "POST, OPTIONS"
        case .settings, .health, .ready: "GET, HEAD, OPTIONS"
        }
    }

    func takes(_ method: HTTPMethod) -> Bool {
        switch self {
        case .tracking, .logs: method == .post
        case .settings, .health, .ready: method == .get || method == .head
        }
    }
}
