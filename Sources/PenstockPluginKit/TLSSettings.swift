/// The settings of a connection that may use TLS. They have the same names in all plugins.
package struct TLSSettings: Decodable, Sendable {
    /// Members of a schema's "properties".
    package static let schema = """
        "tls": {"type": "boolean", "description": "encrypt; default: true with any of tls_*"},
        "tls_ca": {"type": "string", "minLength": 1, "format": "path",
            "description": "PEM file of the authorities to trust; default: those of the system"},
        "tls_certificate": {"type": "string", "minLength": 1, "format": "path",
            "description": "PEM file of the client's certificate"},
        "tls_key": {"type": "string", "minLength": 1, "format": "path", "description": "PEM file of the client's key"}
        """

    private enum CodingKeys: String, CodingKey {
        case explicit = "tls"
        case authorities = "tls_ca"
        case certificate = "tls_certificate"
        case key = "tls_key"
    }

    /// The setting `tls`; nil: the other settings decide.
    private var explicit: Bool?
    /// nil: those of the system.
    package var authorities: String?
    package var certificate: String?
    package var key: String?

    /// - Parameter byDefault: whether something other than these settings, such as the scheme of a URL, asks for TLS.
    package func isUsed(byDefault: Bool = false) -> Bool {
        explicit ?? (authorities != nil || certificate != nil || byDefault)
    }

    /// - Throws: an error that names the invalid setting.
    package func validate() throws(SinkError) {
        if (certificate == nil) != (key == nil) {
            throw SinkError(
                "settings.\(key == nil ? "tls_key" : "tls_certificate"): is missing; "
                    + "set tls_certificate and tls_key, or neither")
        }
        if explicit == false, authorities != nil || certificate != nil {
            throw SinkError("settings.tls: is false, but tls_ca or tls_certificate is set; remove one of them")
        }
    }
}
