import Events
import Foundation
import Platform

/// Finds AWS's keys where its SDKs look for them, in their order: the environment, a web identity, a file of
/// credentials, the container's service, the instance's service.
///
/// Source: AWS SDKs and Tools Reference Guide, "Standardized credential providers".
package struct AWSCredentialChain: CredentialProvider {
    /// Files may change at any time, so they are read again.
    private static let readAgainAfter: Int64 = 15 * 60 * 1_000_000_000
    private static let tokenSeconds = 21_600

    let environment: [String: String]
    /// Of the service that turns a web identity into keys.
    let region: String

    package init(environment: [String: String], region: String) {
        // An empty variable is one that is not set.
        self.environment = environment.filter { !$0.value.isEmpty }
        self.region = region
    }

    package func check() {}

    package var standIn: Credential { Credential(.aws(AWSKeys(id: "<access key>", secretKey: ""))) }

    package func begin(at time: Int64) throws(CredentialError) -> CredentialStep {
        if let id = environment["AWS_ACCESS_KEY_ID"], let key = environment["AWS_SECRET_ACCESS_KEY"] {
            let keys = AWSKeys(id: id, secretKey: key, sessionToken: environment["AWS_SESSION_TOKEN"])
            return .done(Credential(.aws(try keys.checked("AWS_ACCESS_KEY_ID"))))
        }
        if let file = environment["AWS_WEB_IDENTITY_TOKEN_FILE"], let role = environment["AWS_ROLE_ARN"] {
            return try webIdentity(file, role)
        }
        if let keys = try profile() {
            return .done(Credential(.aws(keys), expires: time.saturatingAdd(Self.readAgainAfter)))
        }
        if let step = try container() { return step }
        guard environment["AWS_EC2_METADATA_DISABLED"]?.lowercased() != "true" else {
            throw CredentialError(
                "there are no credentials for AWS: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY, or sign.key_id and "
                    + "sign.key", isRefusal: true)
        }
        return instance()
    }

    // MARK: A web identity

    private func webIdentity(_ file: String, _ role: String) throws(CredentialError) -> CredentialStep {
        let token = try LocalFile.token(file)
        let domain = region.hasPrefix("cn-") ? "amazonaws.com.cn" : "amazonaws.com"
        let service = environment["AWS_ENDPOINT_URL_STS"] ?? "https://sts.\(region).\(domain)"
        let request = CredentialRequest.form(
            [
                ("Action", "AssumeRoleWithWebIdentity"), ("Version", "2011-06-15"), ("RoleArn", role),
                ("RoleSessionName", environment["AWS_ROLE_SESSION_NAME"] ?? "penstock"), ("WebIdentityToken", token),
            ], to: service.hasSuffix("/") ? service : service + "/")
        return .send(request) { answer throws(CredentialError) in
            guard answer.isSuccess else {
                let cause = XMLText.element("Code", of: answer.text) ?? "HTTP \(answer.status)"
                let mayPass =
                    cause.hasPrefix("Throttl") || cause == "IDPCommunicationError" || cause == "RequestExpired"
                throw CredentialError("AWS STS refused the role: \(cause)", isRefusal: answer.isRefusal && !mayPass)
            }
            let fields = Dictionary(
                uniqueKeysWithValues: ["AccessKeyId", "SecretAccessKey", "SessionToken", "Expiration"].map {
                    ($0, XMLText.element($0, of: answer.text))
                })
            return .done(
                try Self.credential(
                    "AWS STS", fields["AccessKeyId"] ?? nil, fields["SecretAccessKey"] ?? nil,
                    fields["SessionToken"] ?? nil, fields["Expiration"] ?? nil))
        }
    }

    // MARK: A file

    private func profile() throws(CredentialError) -> AWSKeys? {
        let home = environment["HOME"].map { $0 + "/.aws/credentials" }
        guard let path = environment["AWS_SHARED_CREDENTIALS_FILE"] ?? home,
            let text = try LocalFile.text(path)
        else { return nil }
        let name = environment["AWS_PROFILE"] ?? "default"
        let profile = AWSProfile.read(text, name)
        guard let id = profile["aws_access_key_id"], let key = profile["aws_secret_access_key"] else {
            guard environment["AWS_PROFILE"] == nil else {
                throw CredentialError("the profile \(name) in \(path) has no keys", isRefusal: true)
            }
            return nil
        }
        return try AWSKeys(id: id, secretKey: key, sessionToken: profile["aws_session_token"]).checked(path)
    }

    // MARK: A container

    private func container() throws(CredentialError) -> CredentialStep? {
        let url: String
        if let path = environment["AWS_CONTAINER_CREDENTIALS_RELATIVE_URI"] {
            guard path.hasPrefix("/") else {
                throw CredentialError("AWS_CONTAINER_CREDENTIALS_RELATIVE_URI must begin with /", isRefusal: true)
            }
            url = "http://169.254.170.2" + path
        } else if let whole = environment["AWS_CONTAINER_CREDENTIALS_FULL_URI"] {
            guard Self.mayBeAsked(whole) else {
                throw CredentialError(
                    "AWS_CONTAINER_CREDENTIALS_FULL_URI must be https, or a service of this machine", isRefusal: true)
            }
            url = whole
        } else {
            return nil
        }
        var token = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN"]
        if let file = environment["AWS_CONTAINER_AUTHORIZATION_TOKEN_FILE"] { token = try LocalFile.token(file) }
        var request = CredentialRequest(method: .GET, url: url, isLocal: true)
        if let token { request.headers = [.init(name: "Authorization", value: token)] }
        return .send(request) { answer throws(CredentialError) in
            .done(try Self.credential("the container's credentials", answer))
        }
    }

    /// The keys' service of a container is this machine's, or proves its identity.
    private static func mayBeAsked(_ url: String) -> Bool {
        guard let url = CurlURL(url) else { return false }
        let local: Set<String> = [
            "localhost", "127.0.0.1", "[::1]", "169.254.170.2", "169.254.170.23", "[fd00:ec2::23]",
        ]
        return url.scheme == "https" || url.scheme == "http" && local.contains(url.host.lowercased())
    }

    // MARK: An instance

    private func instance() -> CredentialStep {
        let isIPv6 = environment["AWS_EC2_METADATA_SERVICE_ENDPOINT_MODE"]?.lowercased() == "ipv6"
        let usual = isIPv6 ? "http://[fd00:ec2::254]" : "http://169.254.169.254"
        var service = environment["AWS_EC2_METADATA_SERVICE_ENDPOINT"] ?? usual
        while service.hasSuffix("/") { service.removeLast() }
        let roles = service + "/latest/meta-data/iam/security-credentials/"
        let token = CredentialRequest(
            method: .PUT, url: service + "/latest/api/token",
            headers: [.init(name: "X-aws-ec2-metadata-token-ttl-seconds", value: "\(Self.tokenSeconds)")], isLocal: true
        )
        return .send(token) { answer throws(CredentialError) in
            guard answer.isSuccess, let token = answer.text.split(whereSeparator: \.isNewline).first else {
                throw CredentialError("the instance's metadata service answered HTTP \(answer.status)")
            }
            let proof = [HTTPOptions.Header(name: "X-aws-ec2-metadata-token", value: String(token))]
            return .send(CredentialRequest(method: .GET, url: roles, headers: proof, isLocal: true)) {
                answer throws(CredentialError) in
                guard answer.isSuccess, let role = answer.text.split(whereSeparator: \.isNewline).first else {
                    throw CredentialError(
                        "the instance has no role: HTTP \(answer.status) of its metadata service",
                        isRefusal: answer.status == 404)
                }
                return .send(CredentialRequest(method: .GET, url: roles + role, headers: proof, isLocal: true)) {
                    answer throws(CredentialError) in
                    .done(try Self.credential("the instance's role", answer))
                }
            }
        }
    }

    // MARK: Answers

    private struct Answer: Decodable {
        var AccessKeyId, SecretAccessKey, Token, Expiration: String?
    }

    private static func credential(
        _ source: String, _ answer: CredentialAnswer
    ) throws(CredentialError) -> Credential {
        guard answer.isSuccess else {
            throw CredentialError("\(source): HTTP \(answer.status)", isRefusal: answer.isRefusal)
        }
        guard let fields = try? JSONDecoder().decode(Answer.self, from: Data(answer.body)) else {
            throw CredentialError("\(source): the answer is no JSON object")
        }
        return try credential(source, fields.AccessKeyId, fields.SecretAccessKey, fields.Token, fields.Expiration)
    }

    private static func credential(
        _ source: String, _ id: String?, _ key: String?, _ token: String?, _ expiration: String?
    ) throws(CredentialError) -> Credential {
        guard let id, let key, let expires = expiration.flatMap(Timestamp.parse) else {
            throw CredentialError("\(source): the answer has no keys, or does not say when they end")
        }
        let keys = AWSKeys(id: id, secretKey: key, sessionToken: token)
        return Credential(.aws(try keys.checked(source)), expires: expires)
    }
}

extension AWSKeys {
    /// Keys that can be sent in a header field.
    fileprivate func checked(_ source: String) throws(CredentialError) -> AWSKeys {
        guard areSendable else {
            throw CredentialError("\(source): the keys hold characters that no key has", isRefusal: true)
        }
        return self
    }
}

/// AWS's file of credentials: `[name]`, then lines of `key = value`.
enum AWSProfile {
    static func read(_ text: String, _ name: String) -> [String: String] {
        var fields: [String: String] = [:]
        var isInside = false
        for line in text.split(whereSeparator: \.isNewline) {
            let line = line.trimmingCharacters(in: .whitespaces)
            if line.hasPrefix("#") || line.hasPrefix(";") { continue }
            if line.hasPrefix("["), let end = line.firstIndex(of: "]") {
                let section = line[line.index(after: line.startIndex)..<end].trimmingCharacters(in: .whitespaces)
                isInside = section == name || section == "profile \(name)"
            } else if isInside, let sign = line.firstIndex(of: "=") {
                let key = line[..<sign].trimmingCharacters(in: .whitespaces).lowercased()
                fields[key] = line[line.index(after: sign)...].trimmingCharacters(in: .whitespaces)
            }
        }
        return fields
    }
}

/// The text of an element of a small XML document whose names are known.
enum XMLText {
    static func element(_ name: String, of text: String) -> String? {
        guard let start = text.range(of: "<\(name)>"),
            let end = text.range(of: "</\(name)>", range: start.upperBound..<text.endIndex)
        else { return nil }
        var value = String(text[start.upperBound..<end.lowerBound])
        for (entity, character) in [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&apos;", "'"), ("&amp;", "&")] {
            value = value.replacingOccurrences(of: entity, with: character)
        }
        return value.trimmingCharacters(in: .whitespacesAndNewlines)
    }
}
