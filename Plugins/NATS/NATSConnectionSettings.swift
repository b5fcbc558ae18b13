import PenstockPluginKit

/// The settings of a connection, whatever it is used for.
struct NATSConnectionSettings: Decodable {
    /// Members of a schema's "properties".
    static let schema = """
        "servers": {"type": "array", "items": {"type": "string", "minLength": 1},
            "description": "URLs such as nats://host:4222 or tls://host:4222; the first that answers is used"},
        "user": {"type": "string", "description": "with password"},
        "password": {"type": "string"},
        "token": {"type": "string", "description": "in place of user and password"},
        "credentials": {"type": "string", "format": "path",
            "description": "the file with the user's JWT and seed (nsc generate creds)"},
        "tls": {"type": "boolean", "description": "encrypt; default: true with tls:// or any of tls_*"},
        "tls_ca": {"type": "string", "format": "path",
            "description": "PEM file of the authorities to trust; default: those of the system"},
        "tls_certificate": {"type": "string", "format": "path", "description": "PEM file of the client's certificate"},
        "tls_key": {"type": "string", "format": "path", "description": "PEM file of the client's key"},
        "connect_timeout": {"type": "string",
            "description": "for each server, and for each request about the stream; default: 5s"}
        """

    private enum CodingKeys: String, CodingKey {
        case servers, user, password, token, credentials, tls
        case ca = "tls_ca"
        case certificate = "tls_certificate"
        case key = "tls_key"
        case connectTimeout = "connect_timeout"
    }

    var servers: [String]
    var user: String?
    var password: String?
    var token: String?
    var credentials: String?
    var tls: Bool?
    var ca: String?
    var certificate: String?
    var key: String?
    var connectTimeout: DurationSetting?

    var timeout: Int64 { connectTimeout?.duration.wholeMilliseconds ?? 5000 }

    var usesTLS: Bool {
        tls ?? (ca != nil || certificate != nil || servers.contains { $0.lowercased().hasPrefix("tls://") })
    }

    /// The authorities to trust. The library by itself trusts none.
    var authorities: String { ca ?? "/etc/ssl/certs/ca-certificates.crt" }

    /// - Throws: an error that names the invalid setting.
    func validate() throws(SinkError) {
        guard !servers.isEmpty, servers.count <= 100 else {
            throw SinkError("settings.servers: must name 1 to 100 servers, such as [\"nats://localhost:4222\"]")
        }
        for server in servers where server.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: ",") }) {
            throw SinkError("settings.servers: \"\(server)\" is not one URL; write each URL as an item of its own")
        }
        if (user == nil) != (password == nil) {
            throw SinkError("settings.\(user == nil ? "user" : "password"): is missing; set user and password")
        }
        if [user, token, credentials].compactMap(\.self).count > 1 {
            throw SinkError("settings: set one of user, token and credentials, not several")
        }
        if (certificate == nil) != (key == nil) {
            throw SinkError(
                "settings.\(key == nil ? "tls_key" : "tls_certificate"): is missing; "
                    + "set tls_certificate and tls_key, or neither")
        }
        if tls == false, ca != nil || certificate != nil {
            throw SinkError("settings.tls: is false, but tls_ca or tls_certificate is set; remove one of them")
        }
        try connectTimeout?.check("connect_timeout", .milliseconds(100)...(.seconds(60)))
    }
}
