import Configuration
import Destinations
import Journal
import Platform
import Telemetry

/// Finds out whether a configuration could be applied, and changes nothing: no live socket is
/// touched, no file made, no destination contacted.
package enum ConfigurationCheck {
    package struct Finding: Sendable {
        package var isError: Bool
        /// As a person reads it, several lines.
        package var text: String
    }

    /// Everything that is wrong or doubtful, and a sentence on what the configuration holds if it
    /// is valid.
    package static func run(file: String, pluginDirectories: [String]) -> (findings: [Finding], summary: String?) {
        let loaded = ConfigurationLoader(
            pluginDirectories: pluginDirectories, missingSecretsAreWarnings: true, accounts: .system
        ).load(file: file)
        var findings = loaded.diagnostics.map { Finding(isError: $0.severity == .error, text: $0.description) }
        guard let configuration = loaded.configuration else { return (findings, nil) }
        do {
            try JournalOptions(configuration.journal).validate()
        } catch {
            findings.append(Finding(isError: true, text: "\(file): error: \(error)"))
        }
        for destination in configuration.destinations {
            do {
                try check(destination, configuration)
                if case .file(let options) = destination.kind,
                    let warning = FileDestination.unwritable(FileDestinationOptions(options), SystemDisk())
                {
                    findings.append(
                        Finding(isError: false, text: "\(file): warning: destination \"\(destination.name)\": \(warning)"))
                }
            } catch {
                findings.append(Finding(isError: true, text: "\(file): error: destination \"\(destination.name)\": \(error)"))
            }
        }
        findings += configuration.meetingFiles.map { Finding(isError: true, text: "\(file): error: \($0)") }
        let summary = [
            count(configuration.sources.count, "source"), count(configuration.routes.count, "route"),
            count(configuration.destinations.count, "destination"),
        ].joined(separator: ", ")
        return (findings, findings.contains(where: \.isError) ? nil : summary)
    }

    private static func check(_ destination: Configuration.Destination, _ configuration: Configuration) throws {
        switch destination.kind {
        case .file(let file): try FileDestination.validate(FileDestinationOptions(file))
        case .http(let http): try HTTPDestination.validate(HTTPOptions(http, inFlight: destination.inFlight))
        case .plugin(let plugin):
            let library = try PluginLibrary.load(PluginFile(named: plugin.plugin, in: configuration.plugins.directories))
            let violations = try library.violations(inSettings: plugin.settings)
            if !violations.isEmpty { throw DaemonError(violations.joined(separator: "; ")) }
        }
    }

    private static func count(_ number: Int, _ noun: String) -> String { "\(number) \(noun)\(number == 1 ? "" : "s")" }
}

extension KnownAccounts {
    /// The machine's users and groups.
    package static let system = KnownAccounts(
        hasUser: { name in ((try? Accounts.userID(named: name)) ?? nil) != nil },
        hasGroup: { name in ((try? Accounts.groupID(named: name)) ?? nil) != nil })
}
