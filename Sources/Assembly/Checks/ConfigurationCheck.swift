import DaemonConfiguration
import Platform

/// Checks whether a configuration could be applied. It changes nothing: it touches no live socket, creates no file, and
/// contacts no destination.
package enum ConfigurationCheck {
    package static func run(file: String, pluginDirectories: [String]) -> CheckReport {
        let unit = ServiceUnit.loaded(for: file)
        var loader = loader(
            pluginDirectories: pluginDirectories, for: .rehearsal, sockets: unit?.sockets ?? [:], sandbox: unit?.sandbox
        )
        loader.missingSecretsAreWarnings = true
        return CheckReport(loader.load(file: file), of: file)
    }

    /// The occasion of a check.
    package enum Occasion: Sendable {
        /// A check by a user who may have fewer rights than the daemon.
        case rehearsal
        /// The daemon starts. A destination that fails only because of the disk must not stop the others.
        case start
        /// A reload. Destinations that already run are not checked again.
        case reload(from: Configuration)
    }

    /// A loader that checks the text, and also plugins, the disk and systemd's settings.
    /// - Parameters:
    ///   - sockets: the sockets that systemd passes, by the name of the source.
    ///   - sandbox: nil: the caller runs inside the sandbox, or there is none.
    package static func loader(
        pluginDirectories: [String], for occasion: Occasion, sockets: [String: [PassedSocketFile]] = [:],
        sandbox: UnitSandbox? = nil
    ) -> ConfigurationLoader {
        var loader = ConfigurationLoader(pluginDirectories: pluginDirectories, accounts: .system)
        loader.check = { read, diagnostics in
            DestinationCheck(read: read, occasion: occasion, diagnostics: diagnostics).run()
            let paths = PluginCheck(read: read, occasion: occasion, diagnostics: diagnostics).run()
            PathCheck(read: read, pluginPaths: paths, diagnostics: diagnostics).run()
            AccessCheck(read: read, diagnostics: diagnostics).run()
            ListenerCheck(read: read, occasion: occasion, diagnostics: diagnostics).run()
            SocketUnitCheck(read: read, sockets: sockets, diagnostics: diagnostics).run()
            if let sandbox {
                SandboxCheck(read: read, sandbox: sandbox, pluginPaths: paths, diagnostics: diagnostics).run()
            }
        }
        return loader
    }
}

extension KnownAccounts {
    /// The machine's users and groups.
    package static let system = KnownAccounts(
        hasUser: { name in ((try? Accounts.userID(named: name)) ?? nil) != nil },
        hasGroup: { name in ((try? Accounts.groupID(named: name)) ?? nil) != nil })
}
