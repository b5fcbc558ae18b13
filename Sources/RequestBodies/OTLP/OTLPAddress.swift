/// Tells IP addresses from other values of `client.address`: names of hosts, paths of sockets.
enum OTLPAddress {
    /// Whether the value may be an IP address.
    static func isAddress(_ value: OTLPValue, _ bytes: Span<UInt8>) -> Bool {
        // The longest text is that of an IPv6 address that ends in an IPv4 address, with 45 characters.
        guard case .string(let range) = value, 2...45 ~= range.count else { return false }
        var hasColon = false
        var hasDot = false
        var hasLetter = false
        for index in range {
            switch bytes[index] {
            case UInt8(ascii: ":"): hasColon = true
            case UInt8(ascii: "."): hasDot = true
            case UInt8(ascii: "0")...UInt8(ascii: "9"): break
            case UInt8(ascii: "a")...UInt8(ascii: "f"), UInt8(ascii: "A")...UInt8(ascii: "F"): hasLetter = true
            default: return false
            }
        }
        return hasColon || hasDot && !hasLetter
    }
}
