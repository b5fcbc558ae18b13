/// What a service may write, as the settings of its unit say (systemd.exec(5), "Sandboxing").
struct UnitSandbox: Equatable {
    /// Why a path cannot be written, or is not where others look for it.
    enum Obstacle: Equatable {
        case readOnly(setting: String)
        /// The directory seems empty.
        case hidden(setting: String)
        /// The service has a directory of its own in its place, which is gone when the service ends.
        case ownCopy(setting: String)
    }

    static let properties = [
        "ProtectSystem", "ProtectHome", "PrivateTmp", "ReadWritePaths", "ReadOnlyPaths", "InaccessiblePaths", "StateDirectory",
        "CacheDirectory", "LogsDirectory", "RuntimeDirectory", "TemporaryFileSystem", "BindPaths",
    ]

    private struct Rule: Equatable {
        var directory: String
        /// nil: it may be written.
        var obstacle: Obstacle?
    }

    private var rules: [Rule] = []

    /// - Parameter unit: each property's values, as `systemctl show` prints them.
    init(_ unit: [String: [String]]) {
        func words(_ property: String) -> [String] { (unit[property] ?? []).flatMap { $0.split(separator: " ").map(String.init) } }
        func value(_ property: String) -> String { unit[property]?.first ?? "" }
        func add(_ directories: [String], _ obstacle: Obstacle?) {
            // A minus says that it need not be there, a plus that it is relative to the unit's root.
            for directory in directories { rules.append(Rule(directory: String(directory.drop { "-+".contains($0) }), obstacle: obstacle)) }
        }

        switch value("ProtectSystem") {
        case "strict": add(["/"], .readOnly(setting: "ProtectSystem=strict"))
        case "full": add(["/usr", "/boot", "/efi", "/etc"], .readOnly(setting: "ProtectSystem=full"))
        case "yes": add(["/usr", "/boot", "/efi"], .readOnly(setting: "ProtectSystem=yes"))
        default: break
        }
        // Interfaces of the kernel's, which have settings of their own.
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
        add(words("BindPaths").map { $0.split(separator: ":").dropFirst().first.map(String.init) ?? Self.beforeColon($0) }, nil)
        for (property, root) in [
            ("StateDirectory", "/var/lib/"), ("CacheDirectory", "/var/cache/"), ("LogsDirectory", "/var/log/"), ("RuntimeDirectory", "/run/"),
        ] {
            add(words(property).map { root + Self.beforeColon($0) }, nil)
        }
    }

    /// - Parameter path: absolute, without symbolic links.
    func obstacle(toWriting path: String) -> Obstacle? {
        let matching = rules.filter { path == $0.directory || path.hasPrefix($0.directory == "/" ? "/" : $0.directory + "/") }
        // What is below a hidden directory is hidden, whatever else is said of it.
        if let hidden = matching.first(where: { if case .hidden = $0.obstacle { true } else { false } }) { return hidden.obstacle }
        // Of settings for nested directories the innermost holds, of those for the same one the last of the list above.
        return matching.enumerated().max { ($0.element.directory.count, $0.offset) < ($1.element.directory.count, $1.offset) }?.element.obstacle
    }

    private static func beforeColon(_ text: String) -> String { text.prefix { $0 != ":" }.description }
}
