import Configuration
import Platform

/// Finds out whether a configuration could be applied, and changes nothing: no live socket is
/// touched, no file made, no destination contacted.
package enum ConfigurationCheck {
    /// Everything that is wrong or doubtful, and a sentence on what the configuration holds if it
    /// is valid.
    package static func run(file: String, pluginDirectories: [String]) -> (diagnostics: [Diagnostic], summary: String?) {
        var loader = loader(pluginDirectories: pluginDirectories, isRehearsal: true)
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

    /// Reads a configuration for the daemon: beside the text, it looks at plugins and the disk.
    /// - Parameters:
    ///   - running: what the daemon does already; plugins that are at work are not looked at.
    ///   - isRehearsal: somebody else looks, who may not be allowed what the daemon is.
    static func loader(
        pluginDirectories: [String], running: Configuration? = nil, isRehearsal: Bool = false
    ) -> ConfigurationLoader {
        var loader = ConfigurationLoader(pluginDirectories: pluginDirectories, accounts: .system)
        loader.check = { read, diagnostics in
            let paths = DestinationCheck(
                read: read, running: running?.destinations ?? [], isRehearsal: isRehearsal, diagnostics: diagnostics
            ).run()
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
