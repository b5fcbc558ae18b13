import Foundation

/// What loading gave: a configuration or the reasons why there is none.
package struct LoadResult: Sendable {
    /// Nil if there is an error.
    package var configuration: Configuration?
    /// Errors and warnings, by file in the order read, then by line.
    package var diagnostics: [Diagnostic]
    /// The files that were read, in that order: the configuration's, its plan, presets of the user's own.
    package var files: [String] = []
    /// Files of conf.d that were not read, and why.
    package var unread: [(path: String, reason: String)] = []

    package var errors: [Diagnostic] { diagnostics.filter { $0.severity == .error } }
    package var warnings: [Diagnostic] { diagnostics.filter { $0.severity == .warning } }
}

/// Reads a configuration: the named file, then `conf.d/*.yaml` beside it in the order of their
/// names. Reads files only; any thread.
package struct ConfigurationLoader: Sendable {
    package static let installedPlugins = ["/usr/lib/penstock/plugins"]
    /// The default of `plugins.directories`: the daemon knows where it was installed.
    package var pluginDirectories: [String]
    /// systemd's credentials; nil: there are none.
    package var credentialsDirectory: String?
    /// True where the service's credentials cannot be expected: a secret that there is nowhere to
    /// look for is a warning, and empty in the configuration.
    package var missingSecretsAreWarnings: Bool
    package var accounts: KnownAccounts
    /// Given a secret's name, says what stands in its place; no secret is read then. nil: they are.
    package var secretStandIn: (@Sendable (String) -> String)?
    /// What else there is to be found out, by somebody who may look at more than text; not asked where a
    /// whole file could not be read.
    package var check: (@Sendable (ReadConfiguration, Diagnostics) -> Void)?

    package init(
        pluginDirectories: [String] = installedPlugins,
        credentialsDirectory: String? = ProcessInfo.processInfo.environment["CREDENTIALS_DIRECTORY"],
        missingSecretsAreWarnings: Bool = false, accounts: KnownAccounts = .unchecked
    ) {
        self.pluginDirectories = pluginDirectories
        self.credentialsDirectory = credentialsDirectory
        self.missingSecretsAreWarnings = missingSecretsAreWarnings
        self.accounts = accounts
    }

    /// - Parameter file: path of penstock.yaml, shown in errors as it is given.
    package func load(file: String) -> LoadResult {
        let diagnostics = Diagnostics()
        let fragments = ConfigurationFragments(besides: file, diagnostics)
        let files = ([file] + fragments.paths).compactMap { ConfigurationFile.read($0, diagnostics) }
        var result = load(files, diagnostics, presets: PresetCatalogue(besides: file, diagnostics))
        result.unread = fragments.unread.map { ($0.path, $0.reason) }
        return result
    }

    /// The same from text, without conf.d and presets of one's own.
    package func load(text: String, named name: String) -> LoadResult {
        let diagnostics = Diagnostics()
        let file = ConfigurationFile.decode(Array(text.utf8), path: name, diagnostics)
        return load(file.map { [$0] } ?? [], diagnostics, presets: PresetCatalogue(besides: nil, diagnostics))
    }

    private func load(_ files: [ConfigurationFile], _ diagnostics: Diagnostics, presets: PresetCatalogue) -> LoadResult {
        // What is missing in one file may stand in another that could not be read: then errors
        // about what does not exist would only mislead.
        var isComplete = !diagnostics.hasErrors
        var roots: [YAMLNode] = []
        for file in files {
            switch YAMLComposer.compose(file, diagnostics) {
            case .root(let root): roots.append(root)
            case .empty: break
            case .broken: isComplete = false
            }
        }
        let merge = ConfigurationMerge(diagnostics: diagnostics)
        let first = files.first.map { $0.place(line: 1, column: 1) } ?? Place(file: "penstock.yaml")
        var draft = ConfigurationDraft(plugins: .init(directories: pluginDirectories))
        let root = merge.merge(roots).map { PresetExpansion(catalogue: presets, diagnostics: diagnostics).expand($0) }
        if let root {
            draft.found = Section.configuration.read(root, named: "the configuration", into: &draft, diagnostics)
        }
        let secrets = SecretStore(
            credentials: credentialsDirectory, directory: draft.secretsDirectory,
            missingIsWarning: missingSecretsAreWarnings, standIn: secretStandIn, diagnostics)
        let builder = ConfigurationBuilder(
            draft: draft, isComplete: isComplete, secrets: secrets, accounts: accounts, presets: presets, diagnostics: diagnostics)
        let configuration = builder.build(at: first)
        let paths = files.map(\.path) + (draft.plan.map { [$0.draft.file] } ?? []) + presets.readFiles
        if isComplete, let root {
            var paths = EventPathAdvice(diagnostics)
            paths.run(root)
            EnvironmentAdvice(diagnostics: diagnostics).run(root)
            SecretAdvice(diagnostics: diagnostics).run(root)
        }
        if isComplete, let root, let check {
            let read = ReadConfiguration(
                configuration: configuration, files: paths, starts: files.map { $0.place(line: 1, column: 1) },
                secretFiles: secrets.files, secretsDirectory: draft.secretsDirectory, root: root, broken: draft.broken)
            check(read, diagnostics)
        }
        return LoadResult(
            configuration: diagnostics.hasErrors ? nil : configuration,
            diagnostics: diagnostics.ordered(by: paths), files: paths)
    }
}
