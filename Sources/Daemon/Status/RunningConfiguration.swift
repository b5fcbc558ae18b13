import Assembly
import DaemonConfiguration
import ConfigurationSyntax
import Explanation
import Synchronization

/// The running configuration as a value, read again from its texts with placeholders for the secrets, so nothing that
/// is made of it can hold a secret. Any thread. Reading takes some milliseconds, so it is not for an event loop.
final class RunningConfiguration: Sendable {
    struct Read: Sendable {
        var configuration: Configuration
        /// As `RunningFiles.version`.
        var version: UInt64
    }

    private let files: RunningFiles
    private let pluginDirectories: [String]
    /// The result of the last reading.
    private let known = Mutex<Read?>(nil)

    init(files: RunningFiles, pluginDirectories: [String]) {
        self.files = files
        self.pluginDirectories = pluginDirectories
    }

    /// - Throws: the texts are too large to be kept, or they are not valid any more.
    func read() throws(OperatorError) -> Read {
        guard let (texts, version) = files.texts else {
            throw OperatorError(
                "the running configuration has more than \(RunningFiles.limit >> 20) MiB, so its text is not kept: "
                    + "use penstock explain, or penstock diff --against with a copy of the running files")
        }
        if let known = known.withLock({ $0 }), known.version == version { return known }
        let loaded = loader.load(texts: texts, of: files.file)
        guard let configuration = loaded.configuration else {
            throw OperatorError(
                "the running configuration cannot be read again: "
                    + (loaded.errors.first.map(\.description) ?? "unknown"))
        }
        let read = Read(configuration: configuration, version: version)
        known.withLock { $0 = read }
        return read
    }

    /// The files on disk, read in the same way. Blocks on the disk.
    func readDisk() -> LoadResult { loader.load(file: files.file) }

    /// Whether a configuration that was read is still the one that runs.
    func isCurrent(_ read: Read) -> Bool { files.version == read.version }

    private var loader: ConfigurationLoader { .withStandIns(pluginDirectories: pluginDirectories) }
}
