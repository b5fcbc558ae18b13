import Events
import Hashing
import Platform

/// Signs requests for AWS, and for services that take the same signature: Signature Version 4 with AWS4-HMAC-SHA256.
/// Immutable; any thread.
///
/// Source: AWS Identity and Access Management User Guide, "Create a signed AWS API request".
package struct AWSSigner: RequestSigner {
    private static let algorithm = "AWS4-HMAC-SHA256"

    /// For example `eu-central-1`.
    package var region: String
    /// The name of the service in its signatures, for example `s3`.
    package var service: String
    /// Keys that stay the same; nil: those that the provider obtains.
    package var keys: AWSKeys?

    package init(region: String, service: String, keys: AWSKeys? = nil) {
        self.region = region
        self.service = service
        self.keys = keys
    }

    package func headers(
        signing request: UnsignedRequest, with credential: Credential?, at time: Int64
    ) throws -> [HTTPOptions.Header] {
        var keys = self.keys
        if keys == nil, case .aws(let obtained)? = credential?.proof { keys = obtained }
        guard let keys else { return [] }
        let date = Self.date(time)
        let hash = hash(of: request)
        var added = [
            HTTPOptions.Header(name: "X-Amz-Date", value: date), .init(name: "X-Amz-Content-Sha256", value: hash),
        ]
        if let token = keys.sessionToken { added.append(.init(name: "X-Amz-Security-Token", value: token)) }

        let (canonical, signed) = canonicalRequest(request, added, hash)
        let scope = "\(date.prefix(8))/\(region)/\(service)/aws4_request"
        let text = [Self.algorithm, date, scope, Self.hex(Digest(key: nil).hash(Array(canonical.utf8).span))]
            .joined(separator: "\n")
        var key = Array("AWS4\(keys.secretKey)".utf8)
        for part in [String(date.prefix(8)), region, service, "aws4_request"] { key = Self.hmac(part, key: key) }
        let signature = Hexadecimal.text(Self.hmac(text, key: key))
        added.append(
            .init(
                name: "Authorization",
                value: "\(Self.algorithm) Credential=\(keys.id)/\(scope), SignedHeaders=\(signed), "
                    + "Signature=\(signature)"))
        return added
    }

    package func check() throws {
        guard let keys, !keys.areSendable else { return }
        throw CredentialError("the key's id or the session token holds a character that no key has")
    }

    /// S3 does not ask for the body's hash if TLS protects it. Hashing it takes a third of the CPU time of a request.
    private func hash(of request: UnsignedRequest) -> String {
        if service == "s3", request.url.hasPrefix("https:") { return "UNSIGNED-PAYLOAD" }
        return Self.hex(Digest(key: nil).hash(request.body.span))
    }

    /// - Returns: the text that is hashed, and the names of the header fields that it covers.
    func canonicalRequest(
        _ request: UnsignedRequest, _ added: [HTTPOptions.Header], _ hash: String
    ) -> (text: String, signed: String) {
        let url = CurlURL(request.url)
        var fields = added.map { ($0.name.lowercased(), Self.trimmed($0.value)) }
        for line in request.headers {
            guard let field = Self.field(line), field.name == "host" || Self.isSigned(field.name) else { continue }
            fields.append(field)
        }
        if !fields.contains(where: { $0.0 == "host" }) { fields.append(("host", url?.hostField ?? "")) }
        fields.sort { $0.0 < $1.0 }
        let signed = fields.map(\.0).joined(separator: ";")
        let lines =
            [request.method, path(url?.path ?? "/"), Self.query(url?.query ?? "")]
            + fields.map { "\($0.0):\($0.1)" } + ["", signed, hash]
        return (lines.joined(separator: "\n"), signed)
    }

    /// For S3, the path is sent in the encoding that is signed: AWS encodes what it gets again, and some compatible
    /// stores compare what they get.
    package func spelling(of url: String) -> String {
        guard service == "s3", let authority = url.firstRange(of: "://")?.upperBound,
            let path = url[authority...].firstIndex(where: { "/?#".contains($0) }), url[path] == "/"
        else { return url }
        let end = url[path...].firstIndex { "?#".contains($0) } ?? url.endIndex
        // The places of values are control characters, and stay as they are.
        let pieces = url[path..<end].split(omittingEmptySubsequences: false) {
            $0.asciiValue.map { $0 < 0x20 } ?? false
        }
        let places = url[path..<end].filter { $0.asciiValue.map { $0 < 0x20 } ?? false }.map(String.init) + [""]
        let encoded = zip(pieces, places).map { Self.encoded(String($0), keeping: UInt8(ascii: "/")) + $1 }.joined()
        return url[..<path] + encoded + url[end...]
    }

    /// S3 encodes the path once, and all other services encode the encoded path again.
    private func path(_ path: String) -> String {
        let once = Self.encoded(path, keeping: UInt8(ascii: "/"))
        return service == "s3" ? once : PercentEncoding.encode(once.utf8) { Self.isKept($0, UInt8(ascii: "/")) }
    }

    /// Sorted by name and value, after the encoding.
    private static func query(_ query: String) -> String {
        query.split(separator: "&").map { parameter in
            let parts = parameter.split(separator: "=", maxSplits: 1, omittingEmptySubsequences: false)
            return (encoded(String(parts[0])), parts.count > 1 ? encoded(String(parts[1])) : "")
        }
        .sorted { $0 < $1 }.map { "\($0.0)=\($0.1)" }.joined(separator: "&")
    }

    /// Encodes a text that may be encoded already, in the one way that the signature knows.
    private static func encoded(_ text: String, keeping kept: UInt8? = nil) -> String {
        PercentEncoding.encode(PercentEncoding.decode(text)) { isKept($0, kept) }
    }

    private static func isKept(_ byte: UInt8, _ kept: UInt8?) -> Bool {
        byte == kept || PercentEncoding.isUnreserved(byte)
    }

    /// The host and all of Amazon's own fields must be covered; others may be.
    private static func isSigned(_ name: String) -> Bool { name == "content-type" || name.hasPrefix("x-amz-") }

    private static func field(_ line: String) -> (name: String, value: String)? {
        guard let colon = line.firstIndex(of: ":") else {
            return line.hasSuffix(";") ? (line.dropLast().lowercased(), "") : nil
        }
        let value = trimmed(String(line[line.index(after: colon)...]))
        // libcurl sends no field for "Name:".
        return value.isEmpty ? nil : (line[..<colon].lowercased(), value)
    }

    /// Without blanks at the ends, and with single blanks inside.
    private static func trimmed(_ value: String) -> String {
        value.split { $0 == " " || $0 == "\t" }.joined(separator: " ")
    }

    /// `20260131T120000Z`
    private static func date(_ time: Int64) -> String {
        String(Timestamp.format(time - time % 1_000_000_000).prefix(19).filter { $0 != "-" && $0 != ":" }) + "Z"
    }

    private static func hmac(_ text: String, key: [UInt8]) -> [UInt8] {
        let hash = Digest(key: key).hash(Array(text.utf8).span)
        return hash.indices.map { hash[$0] }
    }

    private static func hex(_ hash: InlineArray<32, UInt8>) -> String {
        Hexadecimal.text(hash.indices.map { hash[$0] })
    }
}
