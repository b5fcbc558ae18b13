import Foundation

/// The result of loading: a configuration, or the errors that prevent it.
package struct LoadResult: Sendable {
    /// Nil if there is an error.
    package var configuration: Configuration?
    /// Errors and warnings, by file in the order read, then by line.
    package var diagnostics: [Diagnostic]
    /// The files that were read, in that order: those of the configuration, its tracking plan, and the user's own
    /// presets.
    package var files: [String] = []
    /// The texts of these files, except of those that could not be read.
    package var texts: [ConfigurationText] = []
    /// Files of conf.d that were not read, and why.
    package var unread: [(path: String, reason: String)] = []

    package var errors: [Diagnostic] { diagnostics.filter { $0.severity == .error } }
    package var warnings: [Diagnostic] { diagnostics.filter { $0.severity == .warning } }
}

/// Reads a configuration: the named file, then the files of `conf.d/*.yaml` beside it, in name order. Only reads files.
/// Any thread.
package struct ConfigurationLoader: Sendable {
    package static let installedPlugins = ["/usr/lib/penstock/plugins"]
    /// The default of `plugins.directories`. The daemon knows where it was installed.
    package var pluginDirectories: [String]
    /// The directory of systemd's credentials; nil: systemd passed none.
    package var credentialsDirectory: String?
    /// True outside the service, where its credentials are not expected. If there is no directory to read secrets from,
    /// a secret is then empty and reported as a warning rather than an error.
    package var missingSecretsAreWarnings: Bool
    package var accounts: KnownAccounts
    /// Supplies a stand-in for the secret of the given name, so that no secret is read; nil: secrets are read.
    package var secretStandIn: (@Sendable (String) -> String)?
    /// Further checks that need more than the text. Not called if a file could not be read as a whole.
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

    /// - Parameter file: path of penstock.yaml. Errors show it as given.
    package func load(file: String) -> LoadResult {
        let diagnostics = Diagnostics()
        let fragments = ConfigurationFragments(besides: file, diagnostics)
        let files = ([file] + fragments.paths).compactMap { ConfigurationFile.read($0, diagnostics) }
        var result = load(files, diagnostics, presets: PresetCatalogue(besides: file, diagnostics))
        result.unread = fragments.unread.map { ($0.path, $0.reason) }
        return result
    }

    /// As above, from text, without conf.d and the user's own presets.
    package func load(text: String, named name: String) -> LoadResult {
        let diagnostics = Diagnostics()
        let file = ConfigurationFile.decode(Array(text.utf8), path: name, diagnostics)
        return load(file.map { [$0] } ?? [], diagnostics, presets: PresetCatalogue(besides: nil, diagnostics))
    }

    /// As above, from the texts of a configuration that was loaded before, with its tracking plan and the user's own
    /// presets.
    /// - Parameter file: path of penstock.yaml.
    package func load(texts: [ConfigurationText], of file: String) -> LoadResult {
        let diagnostics = Diagnostics()
        let remembered = RememberedFiles(texts)
        let files = texts.filter { $0.kind == .configuration }.compactMap {
            ConfigurationFile.decode(Array($0.text.utf8), path: $0.path, diagnostics)
        }
        return load(
            files, diagnostics,
            presets: PresetCatalogue(besides: file, diagnostics, remembered: remembered), remembered: remembered)
    }

    private func load(
        _ files: [ConfigurationFile], _ diagnostics: Diagnostics, presets: PresetCatalogue,
        remembered: RememberedFiles = RememberedFiles()
    ) -> LoadResult {
        // A name that seems to be missing may be defined in a file that could not be read. Then errors about missing
        // names would mislead.
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
            draft: draft, isComplete: isComplete, secrets: secrets, accounts: accounts, presets: presets,
            remembered: remembered,
            diagnostics: diagnostics)
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
            diagnostics: diagnostics.ordered(by: paths), files: paths,
            texts: files.map { .init(kind: .configuration, path: $0.path, text: $0.text) }
                + (configuration.plan.map { [.init(kind: .plan, path: $0.file, text: $0.text)] } ?? [])
                + presets.readTexts)
    }
}
