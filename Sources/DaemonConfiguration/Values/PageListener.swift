import Platform

extension Configuration {
    /// Where the page of the daemon is.
    package enum PageListener: Sendable, Equatable, CustomStringConvertible {
        /// HTTP at a loopback address. Clients need a token.
        case address(SocketAddress)
        /// HTTP over a Unix socket: an absolute path, at most 107 bytes. The file's owner and mode decide who may
        /// connect.
        case socket(String)

        package var description: String {
            switch self {
            case .address(let address): address.description
            case .socket(let path): path
            }
        }
    }
}
