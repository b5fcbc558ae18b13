import DaemonConfiguration
import Control
import Events
import Hashing
import Synchronization

/// The texts of the running configuration's files, as they were read when it was applied. Any thread.
final class RunningFiles: Sendable {
    /// The most bytes of text that are kept, and that a report holds from the disk. A larger configuration runs, but
    /// cannot be shown as a whole.
    static let limit = 8 << 20

    private struct State {
        /// In the order read.
        var texts: [ConfigurationText] = []
        /// Files whose text is not kept.
        var omitted: Set<String> = []
        var appliedAt: Int64 = 0
        var graph = RoutingReport()
        /// Grows with each applied configuration.
        var version: UInt64 = 0
        var hash = ""
    }

    /// The main file, as given to the daemon.
    let file: String
    private let state = Mutex(State())

    init(file: String) { self.file = file }

    /// The running configuration as a graph.
    var graph: RoutingReport { state.withLock { $0.graph } }

    /// A number that changes with each applied configuration.
    var version: UInt64 { state.withLock { $0.version } }

    /// SHA-256 of the files' paths and texts, in hexadecimal digits.
    var hash: String { state.withLock { $0.hash } }

    /// The texts of the running configuration, and a number that changes with them; nil: they are too large to be kept.
    var texts: (texts: [ConfigurationText], version: UInt64)? {
        state.withLock { $0.omitted.isEmpty ? ($0.texts, $0.version) : nil }
    }

    /// - Parameters:
    ///   - configuration: what the texts mean.
    ///   - time: in nanoseconds since 1970-01-01 UTC.
    func applied(_ texts: [ConfigurationText], _ configuration: Configuration, at time: Int64) {
        var next = State(appliedAt: time, graph: RoutingReport(configuration), hash: Self.hash(texts))
        var room = Self.limit
        for var text in texts {
            if text.text.utf8.count > room {
                next.omitted.insert(text.path)
                text.text = ""
            }
            room -= text.text.utf8.count
            next.texts.append(text)
        }
        state.withLock { state in
            next.version = state.version &+ 1
            state = next
        }
    }

    private static func hash(_ texts: [ConfigurationText]) -> String {
        var bytes: [UInt8] = []
        for text in texts {
            bytes += Array(text.path.utf8) + [0]
            bytes += Array(text.text.utf8) + [0]
        }
        var json: [UInt8] = []
        Digest(key: nil).appendJSON(of: bytes.span, to: &json)
        return String(decoding: json.dropFirst().dropLast(), as: UTF8.self)
    }

    /// Compares the running files with those on disk. Blocks on the disk.
    func report() -> ConfigurationReport {
        let state = state.withLock { $0 }
        let disk = ConfigurationTextOnDisk.read(file: file, and: state.texts)
        var running = Dictionary(state.texts.map { ($0.path, $0) }, uniquingKeysWith: { first, _ in first })
        var room = Self.limit
        var files = disk.compactMap { found -> ConfigurationReport.File? in
            let text = running.removeValue(forKey: found.path)
            var file = ConfigurationReport.File(path: found.path, kind: .init(found.kind), state: .same)
            guard !state.omitted.contains(found.path) else { return Self.unknown(file) }
            file.running = text?.text
            switch found.content {
            case .missing:
                // Neither on disk nor running: it went away while the directory was read.
                guard text != nil else { return nil }
                file.state = .removed
            case .unreadable(let reason):
                file.state = text == nil ? .added : .unreadable
                file.problem = reason
            case .text(let onDisk) where onDisk == text?.text: break
            case .text(let onDisk):
                file.state = text == nil ? .added : .changed
                if onDisk.utf8.count <= room {
                    room -= onDisk.utf8.count
                    file.onDisk = onDisk
                } else {
                    file.problem = "the files on disk have more than \(Self.limit >> 20) MiB, too much to be shown"
                }
            }
            return file
        }
        // Files of conf.d that were removed.
        for text in state.texts where running[text.path] != nil {
            var file = ConfigurationReport.File(path: text.path, kind: .init(text.kind), state: .removed)
            if !state.omitted.contains(text.path) { file.running = text.text }
            files.append(file)
        }
        return ConfigurationReport(
            file: file, appliedAt: Timestamp.format(state.appliedAt),
            differs: files.contains { $0.state != .same && $0.state != .unknown }, files: files)
    }

    private static func unknown(_ file: ConfigurationReport.File) -> ConfigurationReport.File {
        var file = file
        file.state = .unknown
        file.problem = "the configuration has more than \(limit >> 20) MiB, so this file's text is not kept"
        return file
    }
}

extension ConfigurationReport.File.Kind {
    fileprivate init(_ kind: ConfigurationText.Kind) {
        switch kind {
        case .configuration: self = .configuration
        case .plan: self = .plan
        case .preset: self = .preset
        }
    }
}
