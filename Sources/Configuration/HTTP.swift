import Routing

extension Configuration {
    package struct HTTP: Sendable, Equatable {
        package enum Format: String, Sendable, CaseIterable { case ndjson, lines, array, single }
        package enum Method: String, Sendable, CaseIterable { case POST, PUT, PATCH }
        package enum Compression: String, Sendable, CaseIterable { case none, gzip, zstd }

        package struct TLS: Sendable, Equatable {
            package enum Version: String, Sendable, CaseIterable { case v1_2 = "1.2", v1_3 = "1.3" }
            /// Absolute paths of PEM files.
            package var caFile: String?
            package var certificate: String?
            package var key: String?
            package var minimumVersion = Version.v1_2
            package var serverName: String?
        }

        package struct Header: Sendable, Equatable {
            package var name: String
            /// For showing: secrets by their names.
            package var text: ConcealedText
            /// For sending: secrets filled in, free of control characters.
            package var value: String { text.revealed }
        }

        /// A proof, in headers of each request, of who sends it.
        package struct Signature: Sendable, Equatable {
            package enum Algorithm: String, Sendable, CaseIterable { case sha256, sha512, sha1 }
            package enum Encoding: String, Sendable, CaseIterable { case hex, base64 }
            /// An HMAC of the body, in a header; or ES256 with a private key, as CloudKit wants it.
            package enum Scheme: String, Sendable, CaseIterable { case hmac, cloudkit }

            package var scheme = Scheme.hmac
            /// CloudKit's name for the key.
            package var keyID = ""
            package var header: String
            package var algorithm: Algorithm
            package var encoding: Encoding
            package var prefix: String
            package var timeHeader: String?
            /// For showing.
            package var keyText: ConcealedText
            package var key: String { keyText.revealed }
        }

        /// For showing: secrets by their names.
        package var urlText: ConcealedText
        /// For sending: secrets filled in, percent-encoded.
        package var url: String { urlText.revealed }
        package var method: Method = .POST
        package var format: Format = .array
        /// In the order given.
        package var headers: [Header] = []
        /// Something goes around the events: the destination's `outputs` say what.
        package var hasBody = false
        /// It is not the same for every event.
        package var bodyVaries = false
        package var compression: Compression = .none
        package var connectTimeout: Duration = .seconds(10)
        package var timeout: Duration = .seconds(30)
        /// Bytes.
        package var maximumAnswer = 64 << 10
        package var answers: [Answer] = []
        /// What the service takes of an event.
        package var limits = LimitSet([])
        /// nil: requests are not signed.
        package var signature: Signature?
        package var maximumRedirects = 0
        package var tls = TLS()
        /// For showing.
        package var proxyText: ConcealedText?
        package var proxy: String? { proxyText?.revealed }
        package var proxyExceptions: [String] = []

        /// Where there are several kinds of request: each, in the order of the destination's `outputs`. What they
        /// do not share are URL, method, format, headers, body, answers and limits.
        package var alternatives: [HTTP] = []

        /// Paths of the event's values in the URL and then in the headers.
        package var values: [String] { urlText.values + headers.flatMap(\.text.values) }

        /// Every secret in it, for hiding them where a service repeats one.
        package var secrets: [String] {
            urlText.secrets + (proxyText?.secrets ?? []) + headers.flatMap(\.text.secrets)
                + (signature?.keyText.secrets ?? []) + alternatives.flatMap(\.secrets)
        }
    }
}
