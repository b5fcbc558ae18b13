/// The paths that a service may write, and the addresses it may listen at, according to its unit (systemd.exec(5),
/// "Sandboxing").
package struct UnitSandbox: Equatable {
    /// Why a path cannot be written, or is not visible to other processes.
    package enum Obstacle: Equatable {
        case readOnly(setting: String)
        /// The directory appears empty.
        case hidden(setting: String)
        /// The service has a private directory in its place, which is deleted when the service ends.
        case ownCopy(setting: String)
    }

    package static let properties =
        [
            "ProtectSystem", "ProtectHome", "PrivateTmp", "ReadWritePaths", "ReadOnlyPaths", "InaccessiblePaths",
            "StateDirectory",
            "CacheDirectory", "LogsDirectory", "RuntimeDirectory", "TemporaryFileSystem", "BindPaths",
        ] + UnitNetwork.properties

    private struct Rule: Equatable {
        var directory: String
        /// nil: writing is allowed.
        var obstacle: Obstacle?
    }

    private var rules: [Rule] = []
    package let network: UnitNetwork

    /// - Parameter unit: each property's values, as `systemctl show` prints them.
    package init(_ unit: [String: [String]]) {
        network = UnitNetwork(unit)
        func words(_ property: String) -> [String] {
            (unit[property] ?? []).flatMap { $0.split(separator: " ").map(String.init) }
        }
        func value(_ property: String) -> String { unit[property]?.first ?? "" }
        func add(_ directories: [String], _ obstacle: Obstacle?) {
            // A minus means that the path may be missing, a plus that it is relative to the unit's root.
            for directory in directories {
                rules.append(Rule(directory: String(directory.drop { "-+".contains($0) }), obstacle: obstacle))
            }
        }

        switch value("ProtectSystem") {
        case "strict": add(["/"], .readOnly(setting: "ProtectSystem=strict"))
        case "full": add(["/usr", "/boot", "/efi", "/etc"], .readOnly(setting: "ProtectSystem=full"))
        case "yes": add(["/usr", "/boot", "/efi"], .readOnly(setting: "ProtectSystem=yes"))
        default: break
        }
        // Interfaces of the kernel, which have their own settings.
        add(["/dev", "/proc", "/sys"], nil)
        let homes = ["/home", "/root", "/run/user"]
        switch value("ProtectHome") {
        case "yes": add(homes, .hidden(setting: "ProtectHome=yes"))
        case "read-only": add(homes, .readOnly(setting: "ProtectHome=read-only"))
        case "tmpfs": add(homes, .ownCopy(setting: "ProtectHome=tmpfs"))
        default: break
        }
        if value("PrivateTmp") == "yes" { add(["/tmp", "/var/tmp"], .ownCopy(setting: "PrivateTmp=yes")) }
        add(words("TemporaryFileSystem").map { Self.beforeColon($0) }, .ownCopy(setting: "TemporaryFileSystem="))
        add(words("ReadOnlyPaths"), .readOnly(setting: "ReadOnlyPaths="))
        add(words("InaccessiblePaths"), .hidden(setting: "InaccessiblePaths="))
        add(words("ReadWritePaths"), nil)
        // SOURCE:DESTINATION
        add(
            words("BindPaths").map {
                $0.split(separator: ":").dropFirst().first.map(String.init) ?? Self.beforeColon($0)
            }, nil)
        for (property, root) in [
            ("StateDirectory", "/var/lib/"), ("CacheDirectory", "/var/cache/"), ("LogsDirectory", "/var/log/"),
            ("RuntimeDirectory", "/run/"),
        ] {
            add(words(property).map { root + Self.beforeColon($0) }, nil)
        }
    }

    /// - Parameter path: absolute, without symbolic links.
    package func obstacle(toWriting path: String) -> Obstacle? {
        let matching = rules.filter {
            path == $0.directory || path.hasPrefix($0.directory == "/" ? "/" : $0.directory + "/")
        }
        // Everything below a hidden directory is hidden, whatever other settings say.
        if let hidden = matching.first(where: { if case .hidden = $0.obstacle { true } else { false } }) {
            return hidden.obstacle
        }
        // For nested directories the innermost setting applies; for the same directory, the last one in the list above.
        return matching.enumerated().max {
            ($0.element.directory.count, $0.offset) < ($1.element.directory.count, $1.offset)
        }?.element.obstacle
    }

    private static func beforeColon(_ text: String) -> String { text.prefix { $0 != ":" }.description }
}
