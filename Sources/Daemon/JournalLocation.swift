import Configuration
import Platform

/// Where the journal lies, for those who look at it without a daemon.
package enum JournalLocation {
    /// - Parameters:
    ///   - file: the configuration.
    ///   - isRequired: whether it has to exist; else what is not there says what the shipped one says.
    /// - Throws: `DaemonError` with everything that is wrong with the configuration.
    package static func directory(configuration file: String, isRequired: Bool) throws -> String {
        if !isRequired, try SystemDisk().status(file) == nil { return Configuration.Journal.defaultDirectory }
        let loaded = ConfigurationLoader(
            pluginDirectories: Installation.pluginDirectories, missingSecretsAreWarnings: true, accounts: .system
        ).load(file: file)
        if let configuration = loaded.configuration { return configuration.journal.directory }
        let errors = loaded.diagnostics.filter { $0.severity == .error }.map(\.description)
        throw DaemonError(
            (errors + ["\(file) is not valid, so that nothing says where the journal is: give --directory"])
                .joined(separator: "\n"))
    }
}
