import Platform

/// Whom a client's limits and turns belong to. Users share the daemon fairly, however many connections each has.
package enum ClientUser: Hashable, Sendable, CustomStringConvertible {
    /// A user of this machine, by uid.
    case local(UInt32)
    /// All clients of one address.
    case remote(RemoteAddress)

    package var description: String {
        switch self {
        case .local(let uid): "user \(uid)"
        case .remote(let address): "address \(address)"
        }
    }
}
