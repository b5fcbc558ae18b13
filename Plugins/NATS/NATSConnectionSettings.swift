import PenstockPluginKit

/// The settings of a connection, whatever it is used for.
struct NATSConnectionSettings: Decodable {
    /// Members of a schema's "properties".
    static let schema = """
        "servers": {"type": "array", "items": {"type": "string", "minLength": 1},
            "description": "URLs such as nats://host:4222 or tls://host:4222; the first that answers is used"},
        "username": {"type": "string", "description": "with password"},
        "password": {"type": "string"},
        "token": {"type": "string", "description": "in place of username and password"},
        "credentials": {"type": "string", "format": "path",
            "description": "the file with the user's JWT and seed (nsc generate creds)"},
        \(TLSSettings.schema),
        "connect_timeout": {"type": "string",
            "description": "for each server, and for each request about the stream; default: 5s"}
        """

    private enum CodingKeys: String, CodingKey {
        case servers, username, password, token, credentials
        case connectTimeout = "connect_timeout"
    }

    var servers: [String]
    var username: String?
    var password: String?
    var token: String?
    var credentials: String?
    var connectTimeout: DurationSetting?
    var tls: TLSSettings

    var timeout: Int64 { connectTimeout?.duration.wholeMilliseconds ?? 5000 }

    var usesTLS: Bool { tls.isUsed(byDefault: servers.contains { $0.lowercased().hasPrefix("tls://") }) }

    /// The authorities to trust. The library by itself trusts none.
    var authorities: String { tls.authorities ?? "/etc/ssl/certs/ca-certificates.crt" }

    init(from decoder: any Decoder) throws {
        let values = try decoder.container(keyedBy: CodingKeys.self)
        servers = try values.decode([String].self, forKey: .servers)
        username = try values.decodeIfPresent(String.self, forKey: .username)
        password = try values.decodeIfPresent(String.self, forKey: .password)
        token = try values.decodeIfPresent(String.self, forKey: .token)
        credentials = try values.decodeIfPresent(String.self, forKey: .credentials)
        connectTimeout = try values.decodeIfPresent(DurationSetting.self, forKey: .connectTimeout)
        tls = try TLSSettings(from: decoder)
    }

    /// - Throws: an error that names the invalid setting.
    func validate() throws(SinkError) {
        guard !servers.isEmpty, servers.count <= 100 else {
            throw SinkError("settings.servers: must name 1 to 100 servers, such as [\"nats://localhost:4222\"]")
        }
        for server in servers where server.utf8.contains(where: { $0 <= 0x20 || $0 == UInt8(ascii: ",") }) {
            throw SinkError("settings.servers: \"\(server)\" is not one URL; write each URL as an item of its own")
        }
        if (username == nil) != (password == nil) {
            throw SinkError(
                "settings.\(username == nil ? "username" : "password"): is missing; set username and password")
        }
        if [username, token, credentials].compactMap(\.self).count > 1 {
            throw SinkError("settings: set one of username, token and credentials, not several")
        }
        try tls.validate()
        try connectTimeout?.check("connect_timeout", .milliseconds(100)...(.seconds(60)))
    }
}
