import DaemonConfiguration
import Destinations
import Foundation

// Translates what authenticates the sender of requests to the options of Destinations.

extension HTTPOptions {
    mutating func authenticate(_ http: Configuration.HTTP) {
        switch http.signature {
        case nil: break
        case .hmac(let hmac): signers.append(HMACSigner(hmac))
        case .cloudkit(let cloudkit):
            signers.append(CloudKitSigner(keyID: cloudkit.keyID.revealed, key: cloudkit.key.revealed))
        case .aws4(let aws):
            let keys = aws.keys.map {
                AWSKeys(id: $0.id.revealed, secretKey: $0.key.revealed, sessionToken: $0.sessionToken?.revealed)
            }
            signers.append(AWSSigner(region: aws.region, service: aws.service, keys: keys))
            if keys == nil {
                credentials = AWSCredentialChain(
                    environment: ProcessInfo.processInfo.environment, region: aws.region)
            }
        }
        if let authorization = http.authorization {
            signers.append(BearerSigner())
            credentials = OAuth2Provider(.init(authorization))
            credentialCAFile = authorization.caFile
        }
    }
}

extension HMACSigner {
    fileprivate init(_ hmac: Configuration.HTTP.Signature.HMAC) {
        self.init(header: hmac.header, key: hmac.key.revealed)
        prefix = hmac.prefix
        timeHeader = hmac.timeHeader
        algorithm =
            switch hmac.algorithm {
            case .sha256: .sha256
            case .sha512: .sha512
            case .sha1: .sha1
            }
        encoding =
            switch hmac.encoding {
            case .hex: .hex
            case .base64: .base64
            }
    }
}

extension OAuth2Provider.Settings {
    private static let googleMetadata =
        "http://metadata.google.internal/computeMetadata/v1/instance/service-accounts/default/token"

    fileprivate init(_ authorization: Configuration.HTTP.Authorization) {
        let url = authorization.tokenURL
        switch authorization.grant {
        case .clientCredentials: self.init(url: url ?? "", grant: .clientCredentials)
        case .refreshToken:
            self.init(url: url ?? "", grant: .refreshToken(authorization.refreshToken?.revealed ?? ""))
        case .jwt:
            self.init(
                url: url ?? "",
                grant: .assertion(
                    .init(
                        issuer: authorization.issuer ?? "", subject: authorization.subject,
                        audience: authorization.audience, key: authorization.key?.revealed ?? "",
                        keyID: authorization.keyID)))
        case .google:
            guard let account = authorization.serviceAccount else {
                self.init(url: url ?? Self.googleMetadata, grant: .googleMetadata)
                break
            }
            self.init(serviceAccount: account.revealed, subject: authorization.subject, url: url)
        case .azureMetadata:
            self.init(url: url ?? "http://169.254.169.254/metadata/identity/oauth2/token", grant: .azureMetadata)
        }
        clientID = authorization.clientID
        clientSecret = authorization.clientSecret?.revealed
        sendsClientInForm = authorization.clientPlace == .body
        scope = authorization.scope
        parameters = authorization.parameters.map { ($0.name, $0.value.revealed) }
    }
}
