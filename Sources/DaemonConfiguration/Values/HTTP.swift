import Routing

extension Configuration {
    package struct HTTP: Sendable, Equatable {
        package enum Format: String, Sendable, CaseIterable { case ndjson, lines, array, single, text, form, xml }
        package enum Method: String, Sendable, CaseIterable { case POST, PUT, PATCH, GET, DELETE }
        package enum Compression: String, Sendable, CaseIterable { case none, gzip, zstd }

        package struct TLS: Sendable, Equatable {
            package enum Version: String, Sendable, CaseIterable {
                case v1_2 = "1.2"
                case v1_3 = "1.3"
            }
            /// Absolute paths of PEM files.
            package var caFile: String?
            package var certificate: String?
            package var key: String?
            package var minimumVersion = Version.v1_2
            package var serverName: String?
        }

        package struct Header: Sendable, Equatable {
            package var name: String
            /// For display: secrets by name.
            package var text: ConcealedText
            /// For sending: secrets filled in, without control characters.
            package var value: String { text.revealed }
        }

        /// For display: secrets by name.
        package var urlText: ConcealedText
        /// For sending: secrets filled in, percent-encoded.
        package var url: String { urlText.revealed }
        package var method: Method = .POST
        package var format: Format = .array
        /// In the order given.
        package var headers: [Header] = []
        /// The body holds text around the events, which the destination's `outputs` supply.
        package var hasBody = false
        /// The text around the events differs between events.
        package var bodyVaries = false
        package var compression: Compression = .none
        package var connectTimeout: Duration = .seconds(10)
        package var timeout: Duration = .seconds(30)
        /// The most bytes of a response body to read.
        package var maximumAnswer = 64 << 10
        package var answers: [Answer] = []
        /// The service's limits on an event.
        package var limits = LimitSet([])
        /// nil: requests are not signed.
        package var signature: Signature?
        /// nil: no access token is obtained.
        package var authorization: Authorization?
        package var maximumRedirects = 0
        package var tls = TLS()
        /// For display.
        package var proxyText: ConcealedText?
        package var proxy: String? { proxyText?.revealed }
        package var proxyExceptions: [String] = []

        /// If there are several kinds of request: each kind, in the order of the destination's `outputs`. They may
        /// differ in URL, method, format, headers, body, answers and limits.
        package var alternatives: [HTTP] = []

        /// Paths of the event's values, first those in the URL, then those in the headers.
        package var values: [String] { urlText.values + headers.flatMap(\.text.values) }

        /// The batch's values, first those in the URL, then those in the headers.
        package var batchValues: [BatchValue] { urlText.batchValues + headers.flatMap(\.text.batchValues) }

        /// Every secret of the destination, to hide it if a service echoes it.
        package var secrets: [String] {
            urlText.secrets + (proxyText?.secrets ?? []) + headers.flatMap(\.text.secrets)
                + (signature?.secrets ?? []) + (authorization?.secrets ?? []) + alternatives.flatMap(\.secrets)
        }
    }
}
