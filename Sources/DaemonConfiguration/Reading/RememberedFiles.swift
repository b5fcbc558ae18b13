/// Texts of files that were read before: those of a daemon's running configuration, whose files may have changed since.
/// A file that is not among them is read from the disk.
struct RememberedFiles: Sendable {
    private var texts: [String: ConfigurationText] = [:]

    init() {}

    init(_ texts: [ConfigurationText]) {
        self.texts = Dictionary(texts.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
    }

    /// The paths of the user's own presets; nil: they are in the directory beside the configuration.
    var presets: [String]? {
        texts.isEmpty ? nil : texts.values.filter { $0.kind == .preset }.map(\.path).sorted()
    }

    /// As `ConfigurationFile.read`.
    func read(_ path: String, namedAt name: Place? = nil, _ diagnostics: Diagnostics) -> ConfigurationFile? {
        guard let known = texts[path] else { return ConfigurationFile.read(path, namedAt: name, diagnostics) }
        return ConfigurationFile.decode(Array(known.text.utf8), path: path, diagnostics)
    }
}
