import Foundation
import Platform

/// The addresses that a service may listen at, according to its unit (systemd.exec(5), systemd.resource-control(5)).
package struct UnitNetwork: Equatable {
    /// Why the service cannot serve clients at an address, and what to do.
    package struct Obstacle: Equatable {
        package var reason: String
        package var remedy: String

        fileprivate init(_ reason: String, set settings: String...) {
            self.reason = reason
            remedy =
                "systemctl edit penstock, and in [Service] \(settings.joined(separator: " and ")); "
                + "systemctl restart penstock"
        }
    }

    static let properties = [
        "PrivateNetwork", "RestrictAddressFamilies", "SocketBindAllow", "SocketBindDeny", "IPAddressAllow",
        "IPAddressDeny", "AmbientCapabilities", "User",
    ]

    private var isPrivate: Bool
    private var families: [String]
    private var bindAllow: [String]
    private var bindDeny: [String]
    private var addressAllow: [Network]
    private var addressDeny: [Network]
    private var mayBindLowPorts: Bool

    /// - Parameter unit: each property's values, as `systemctl show` prints them.
    init(_ unit: [String: [String]]) {
        func words(_ property: String) -> [String] {
            (unit[property] ?? []).flatMap { $0.split(separator: " ").map(String.init) }
        }
        isPrivate = unit["PrivateNetwork"]?.first == "yes"
        families = words("RestrictAddressFamilies")
        bindAllow = words("SocketBindAllow")
        bindDeny = words("SocketBindDeny")
        addressAllow = words("IPAddressAllow").compactMap(Network.init)
        addressDeny = words("IPAddressDeny").compactMap(Network.init)
        let user = unit["User"]?.first ?? ""
        mayBindLowPorts =
            user.isEmpty || user == "root" || words("AmbientCapabilities").contains("cap_net_bind_service")
    }

    /// nil: the unit allows it.
    /// - Parameter firstFreePort: the lowest port that needs no right.
    package func obstacle(toListeningAt address: SocketAddress, firstFreePort: UInt16 = freePort) -> Obstacle? {
        if isPrivate {
            return Obstacle("its sandbox has PrivateNetwork=yes, so no client reaches it", set: "PrivateNetwork=no")
        }
        let family = address.host.isIPv4 ? "AF_INET" : "AF_INET6"
        if !allows(family) {
            return Obstacle(
                "its sandbox has RestrictAddressFamilies=\(families.joined(separator: " "))",
                set: "RestrictAddressFamilies=AF_UNIX AF_INET AF_INET6")
        }
        if bindDeny.contains(where: { Self.covers($0, address) }),
            !bindAllow.contains(where: { Self.covers($0, address) })
        {
            return Obstacle(
                "its sandbox has SocketBindDeny=\(bindDeny.joined(separator: " "))",
                set: "SocketBindAllow=tcp:\(address.port)")
        }
        if address.port != 0, address.port < firstFreePort, !mayBindLowPorts {
            return Obstacle(
                "a port below \(firstFreePort) needs a right that the service does not have",
                set: "AmbientCapabilities=CAP_NET_BIND_SERVICE", "CapabilityBoundingSet=CAP_NET_BIND_SERVICE")
        }
        // Clients of another address may be anywhere, so only a unit that denies every address is certainly wrong.
        let isDenied =
            address.isLoopback
            ? addressDeny.contains { $0.contains(address.host) } && !addressAllow.contains { $0.contains(address.host) }
            : addressAllow.isEmpty && addressDeny.contains { $0.length == 0 && $0.isIPv4 == address.host.isIPv4 }
        return isDenied
            ? Obstacle(
                "its sandbox has IPAddressDeny=\(addressDeny.map(\.text).joined(separator: " "))",
                set: "IPAddressAllow=\(address.isLoopback ? "localhost" : "NETWORK") for its clients") : nil
    }

    /// A list that begins with "~" names the forbidden families.
    private func allows(_ family: String) -> Bool {
        guard let first = families.first else { return true }
        if first.hasPrefix("~") { return !families.contains { $0 == family || $0 == "~" + family } }
        return families.contains(family)
    }

    /// - Parameter rule: `any`, or parts of `ipv4:tcp:8000-8100`.
    private static func covers(_ rule: String, _ address: SocketAddress) -> Bool {
        rule.split(separator: ":").allSatisfy { part in
            switch part {
            case "any", "tcp": return true
            case "udp": return false
            case "ipv4": return address.host.isIPv4
            case "ipv6": return !address.host.isIPv4
            default:
                let ends = part.split(separator: "-").compactMap { UInt16($0) }
                guard let first = ends.first, let last = ends.last, address.port != 0 else { return false }
                return address.port >= first && address.port <= last
            }
        }
    }

    /// The value of net.ipv4.ip_unprivileged_port_start, which also applies to IPv6.
    package static let freePort: UInt16 = {
        let text = try? String(contentsOfFile: "/proc/sys/net/ipv4/ip_unprivileged_port_start", encoding: .utf8)
        return text.flatMap { UInt16($0.filter(\.isNumber)) } ?? 1024
    }()
}

/// `10.0.0.0/8`
private struct Network: Equatable {
    var text: String
    var address: RemoteAddress
    /// In bits, of 32 or 128.
    var length: Int

    var isIPv4: Bool { address.isIPv4 }

    init?(_ text: String) {
        let parts = text.split(separator: "/", maxSplits: 1)
        guard let host = parts.first, let address = RemoteAddress(String(host)) else { return nil }
        let bits = address.isIPv4 ? 32 : 128
        let length = parts.count > 1 ? Int(parts[1]) : bits
        guard let length, (0...bits).contains(length) else { return nil }
        self.text = text
        self.address = address
        self.length = length
    }

    func contains(_ other: RemoteAddress) -> Bool {
        guard isIPv4 == other.isIPv4 else { return false }
        // IPv4 is in the last 32 of 128 bits.
        let length = isIPv4 ? length + 96 : length
        func mask(_ bits: Int) -> UInt64 { bits <= 0 ? 0 : bits >= 64 ? .max : UInt64.max << UInt64(64 - bits) }
        return (address.high ^ other.high) & mask(length) == 0 && (address.low ^ other.low) & mask(length - 64) == 0
    }
}
