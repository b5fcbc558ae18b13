import Configuration
import Platform

/// Finds out whether a configuration could be applied, and changes nothing: no live socket is
/// touched, no file made, no destination contacted.
package enum ConfigurationCheck {
    /// Everything that is wrong or doubtful, and a sentence on what the configuration holds if it
    /// is valid.
    package static func run(file: String, pluginDirectories: [String]) -> (diagnostics: [Diagnostic], summary: String?) {
        var loader = loader(pluginDirectories: pluginDirectories, for: .rehearsal)
        loader.missingSecretsAreWarnings = true
        let loaded = loader.load(file: file)
        let summary = loaded.configuration.map { configuration in
            [
                count(configuration.sources.count, "source"), count(configuration.routes.count, "route"),
                count(configuration.destinations.count, "destination"),
            ].joined(separator: ", ")
        }
        return (loaded.diagnostics, summary)
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

    /// Reads a configuration and looks, beside the text, at plugins and the disk.
    static func loader(pluginDirectories: [String], for occasion: Occasion) -> ConfigurationLoader {
        var loader = ConfigurationLoader(pluginDirectories: pluginDirectories, accounts: .system)
        loader.check = { read, diagnostics in
            let paths = DestinationCheck(read: read, occasion: occasion, diagnostics: diagnostics).run()
            PathCheck(read: read, pluginPaths: paths, diagnostics: diagnostics).run()
        }
        return loader
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}

extension KnownAccounts {
    /// The machine's users and groups.
    package static let system = KnownAccounts(
        hasUser: { name in ((try? Accounts.userID(named: name)) ?? nil) != nil },
        hasGroup: { name in ((try? Accounts.groupID(named: name)) ?? nil) != nil })
}
