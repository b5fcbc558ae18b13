extension Configuration.HTTP {
    /// Authenticates the sender by headers in each request. A text with a secret is for display; what ends with
    /// `revealed` is for use.
    package enum Signature: Sendable, Equatable {
        package enum Scheme: String, Sendable, CaseIterable { case hmac, cloudkit, aws4 }
        package enum Algorithm: String, Sendable, CaseIterable { case sha256, sha512, sha1 }
        package enum Encoding: String, Sendable, CaseIterable { case hex, base64 }

        /// Of the body, with a shared key.
        package struct HMAC: Sendable, Equatable {
            package var header: String
            package var algorithm: Algorithm
            package var encoding: Encoding
            package var prefix: String
            package var timeHeader: String?
            package var key: ConcealedText
        }

        /// ES256 with a private key in PEM.
        package struct CloudKit: Sendable, Equatable {
            package var keyID: ConcealedText
            package var key: ConcealedText
        }

        /// AWS's Signature Version 4.
        package struct AWS4: Sendable, Equatable {
            package struct Keys: Sendable, Equatable {
                package var id: ConcealedText
                package var key: ConcealedText
                package var sessionToken: ConcealedText?
            }

            package var region: String
            package var service: String
            /// nil: the keys that AWS's SDKs would find on this machine.
            package var keys: Keys?
        }

        case hmac(HMAC)
        case cloudkit(CloudKit)
        case aws4(AWS4)

        package var scheme: Scheme {
            switch self {
            case .hmac: .hmac
            case .cloudkit: .cloudkit
            case .aws4: .aws4
            }
        }

        var secrets: [String] {
            switch self {
            case .hmac(let hmac): hmac.key.secrets
            case .cloudkit(let cloudkit): cloudkit.keyID.secrets + cloudkit.key.secrets
            case .aws4(let aws):
                (aws.keys?.id.secrets ?? []) + (aws.keys?.key.secrets ?? []) + (aws.keys?.sessionToken?.secrets ?? [])
            }
        }
    }

    /// Obtains the access token that each request carries.
    package struct Authorization: Sendable, Equatable {
        /// The values of `grant`.
        package enum Grant: String, Sendable, CaseIterable {
            case clientCredentials = "client_credentials"
            case refreshToken = "refresh_token"
            case jwt
            case google
            case azureMetadata = "azure_metadata"
        }

        package enum ClientPlace: String, Sendable, CaseIterable { case header, body }

        package var grant: Grant
        package var tokenURL: String?
        package var clientID: String?
        package var clientSecret: ConcealedText?
        package var clientPlace: ClientPlace
        package var refreshToken: ConcealedText?
        package var scope: String?
        package var issuer: String?
        package var subject: String?
        package var audience: String?
        /// In PEM.
        package var key: ConcealedText?
        package var keyID: String?
        /// The file that Google makes for a service account.
        package var serviceAccount: ConcealedText?
        package var parameters: [Parameter]
        /// Absolute.
        package var caFile: String?

        package struct Parameter: Sendable, Equatable {
            package var name: String
            package var value: ConcealedText
        }

        var secrets: [String] {
            [clientSecret, refreshToken, key, serviceAccount].flatMap { $0?.secrets ?? [] }
                + parameters.flatMap(\.value.secrets)
        }
    }
}
