/// What proves the sender to a service, often for a limited time. Never shown.
package struct Credential: Sendable {
    package enum Proof: Sendable, Equatable {
        case aws(AWSKeys)
        /// The value of an `Authorization` field after the word `Bearer` (RFC 6750).
        case bearer(String)
    }

    package var proof: Proof
    /// In nanoseconds since 1970-01-01 UTC; nil: it does not end.
    package var expires: Int64?

    package init(_ proof: Proof, expires: Int64? = nil) {
        self.proof = proof
        self.expires = expires
    }

    /// What an excerpt of a response must not repeat.
    var hidden: [[UInt8]] {
        switch proof {
        case .aws(let keys): ([keys.secretKey] + [keys.sessionToken].compactMap(\.self)).map { Array($0.utf8) }
        case .bearer(let token): [Array(token.utf8)]
        }
    }
}

/// An access key of AWS.
package struct AWSKeys: Sendable, Equatable {
    /// Names the key; not secret.
    package var id: String
    package var secretKey: String
    /// For keys that end.
    package var sessionToken: String?

    package init(id: String, secretKey: String, sessionToken: String? = nil) {
        self.id = id
        self.secretKey = secretKey
        self.sessionToken = sessionToken
    }

    /// Whether what is sent in header fields holds only visible characters.
    var areSendable: Bool { (id + (sessionToken ?? "")).utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } }
}

/// Obtains a credential, with as many requests as that takes. Any thread.
package protocol CredentialProvider: Sendable {
    /// Begins to obtain a new credential. May read files, which the destination's worker then waits for.
    /// - Parameter time: now, in nanoseconds since 1970-01-01 UTC.
    func begin(at time: Int64) throws(CredentialError) -> CredentialStep

    /// Throws what in the settings is wrong. Holds no part of a secret, and uses no network.
    func check() throws

    /// Stands for a credential where requests are shown.
    var standIn: Credential { get }
}

/// The next step on the way to a credential.
package enum CredentialStep: Sendable {
    case done(Credential)
    /// Send the request, and go on with its answer.
    case send(CredentialRequest, then: @Sendable (CredentialAnswer) throws(CredentialError) -> CredentialStep)
}

/// Why there is no credential. Holds no part of a secret.
package struct CredentialError: Error, Equatable, CustomStringConvertible {
    package var description: String
    /// An operator must act: the destination is held. Otherwise another attempt may succeed.
    package var isRefusal: Bool

    package init(_ description: String, isRefusal: Bool = false) {
        self.description = description
        self.isRefusal = isRefusal
    }
}

package struct CredentialRequest: Sendable {
    package var method = HTTPOptions.Method.POST
    package var url: String
    package var headers: [HTTPOptions.Header] = []
    package var body: [UInt8] = []
    /// A service of this machine, which is never asked through a proxy.
    package var isLocal = false

    /// The fields of a form (application/x-www-form-urlencoded).
    static func form(_ fields: [(name: String, value: String)], to url: String) -> CredentialRequest {
        var request = CredentialRequest(url: url)
        request.headers = [.init(name: "Content-Type", value: "application/x-www-form-urlencoded")]
        request.body = Array(FormText.encode(fields).utf8)
        return request
    }
}

package struct CredentialAnswer: Sendable {
    package var status: Int
    package var body: [UInt8]

    var isSuccess: Bool { (200..<300).contains(status) }
    /// An operator must act.
    var isRefusal: Bool { (400..<500).contains(status) && status != 408 && status != 429 }
    var text: String { String(decoding: body, as: UTF8.self) }
}
