import Configuration
import Platform

/// Finds out whether a configuration could be applied, and changes nothing: no live socket is
/// touched, no file made, no destination contacted.
package enum ConfigurationCheck {
    package static func run(file: String, pluginDirectories: [String]) -> CheckReport {
        let unit = ServiceUnit.loaded(for: file)
        var loader = loader(pluginDirectories: pluginDirectories, for: .rehearsal, sockets: unit?.sockets ?? [:], sandbox: unit?.sandbox)
        loader.missingSecretsAreWarnings = true
        return CheckReport(loader.load(file: file), of: file)
    }

    /// Who asks, and what for.
    enum Occasion: Sendable {
        /// Somebody looks who may not be allowed what the daemon is.
        case rehearsal
        /// The daemon begins: a destination that only the disk keeps from its work keeps no other from it.
        case start
        /// What runs already is not looked at again.
        case reload(from: Configuration)
    }

    /// Reads a configuration and looks, beside the text, at plugins, the disk and what systemd does for the daemon.
    /// - Parameters:
    ///   - sockets: those that systemd passes, by the name of the source.
    ///   - sandbox: nil: whoever asks is in it, or there is none.
    static func loader(
        pluginDirectories: [String], for occasion: Occasion, sockets: [String: [PassedSocket]] = [:], sandbox: UnitSandbox? = nil
    ) -> ConfigurationLoader {
        var loader = ConfigurationLoader(pluginDirectories: pluginDirectories, accounts: .system)
        loader.check = { read, diagnostics in
            let paths = DestinationCheck(read: read, occasion: occasion, diagnostics: diagnostics).run()
            PathCheck(read: read, pluginPaths: paths, diagnostics: diagnostics).run()
            AccessCheck(read: read, diagnostics: diagnostics).run()
            SocketUnitCheck(read: read, sockets: sockets, diagnostics: diagnostics).run()
            if let sandbox { SandboxCheck(read: read, sandbox: sandbox, pluginPaths: paths, diagnostics: diagnostics).run() }
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
