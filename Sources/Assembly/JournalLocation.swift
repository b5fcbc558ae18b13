import DaemonConfiguration
import Platform

/// Finds the journal's directory for programs that read the journal without a daemon.
package enum JournalLocation {
    /// - Parameters:
    ///   - file: the configuration.
    ///   - isRequired: whether the file must exist. If it need not and does not, the default directory applies.
    /// - Throws: `OperatorError` with all errors of the configuration.
    package static func directory(configuration file: String, isRequired: Bool) throws -> String {
        if !isRequired, try SystemDisk().status(file) == nil { return Configuration.Journal.defaultDirectory }
        let loaded = ConfigurationLoader(
            pluginDirectories: Installation.pluginDirectories, missingSecretsAreWarnings: true, accounts: .system
        ).load(file: file)
        if let configuration = loaded.configuration { return configuration.journal.directory }
        let errors = loaded.diagnostics.filter { $0.severity == .error }.map(\.description)
        throw OperatorError(
            (errors + ["\(file) is not valid, so the journal's directory is unknown: give --directory"])
                .joined(separator: "\n"))
    }
}
