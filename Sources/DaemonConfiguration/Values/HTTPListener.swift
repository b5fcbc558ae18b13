import Platform

extension Configuration {
    /// A source's TCP listener for HTTP.
    package struct HTTPListener: Sendable, Equatable {
        package struct TLS: Sendable, Equatable {
            package enum Key: Sendable, Equatable {
                /// In the certificate's file.
                case inCertificate
                /// The absolute path of a PEM file.
                case file(String)
                /// In PEM format. Empty if the secret could not be read.
                case secret(Secret)
            }

            /// The absolute path of a PEM file.
            package var certificate: String
            package var key: Key = .inCertificate
            /// The absolute path of a PEM file. With it, clients must have a certificate.
            package var clientCA: String?
        }

        package var address: SocketAddress
        /// nil: plain HTTP.
        package var tls: TLS?
        /// Plain HTTP is allowed on an address that other machines can reach.
        package var insecure = false
    }

    /// The websites that may send events from a browser (CORS).
    package enum AllowedOrigins: Sendable, Equatable {
        case any
        /// Each as a browser sends it in `Origin`: `https://shop.example`, in lower case, without the default port.
        case only([String])
    }

    /// Limits on HTTP requests, over the Unix socket and over TCP.
    package struct HTTPRequestLimits: Sendable, Equatable {
        package var batchEvents = 2_500
        /// Bytes of a body after decompression.
        package var batchSize = 500 << 10
        /// Bytes of the request line and all headers.
        package var requestHead = 16 << 10
        /// How many times a body may be larger after decompression than before.
        package var decompressionRatio = 100
        /// How long a request waits for room in the journal before it is answered with 503.
        package var wait: Duration = .seconds(10)
    }
}
