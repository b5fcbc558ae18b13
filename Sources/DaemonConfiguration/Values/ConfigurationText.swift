import Foundation

/// The text of a file that belongs to a configuration, as it was read.
package struct ConfigurationText: Sendable, Equatable {
    package enum Kind: String, Sendable, CaseIterable {
        /// The main file, or a file of conf.d.
        case configuration
        /// The tracking plan.
        case plan
        /// One of the user's own presets.
        case preset
    }

    package var kind: Kind
    package var path: String
    package var text: String

    package init(kind: Kind, path: String, text: String) {
        self.kind = kind
        self.path = path
        self.text = text
    }
}

/// A file that belongs to a configuration, as it is on disk now.
package struct ConfigurationTextOnDisk: Sendable, Equatable {
    package enum Content: Sendable, Equatable {
        case text(String)
        case missing
        /// It is there, but cannot be read, or is not text. The reason has no full stop.
        case unreadable(String)
    }

    package var kind: ConfigurationText.Kind
    package var path: String
    package var content: Content

    /// Reads the main file and the files of conf.d that exist now, and each other file of the running configuration
    /// again.
    /// - Parameters:
    ///   - file: the path of the main file.
    ///   - running: the files of the running configuration.
    package static func read(file: String, and running: [ConfigurationText]) -> [ConfigurationTextOnDisk] {
        let fragments = ConfigurationFragments(besides: file, Diagnostics())
        var files = ([file] + fragments.paths).map { (ConfigurationText.Kind.configuration, $0) }
        for text in running where text.kind != .configuration { files.append((text.kind, text.path)) }
        return files.map { .init(kind: $0.0, path: $0.1, content: read($0.1)) }
    }

    private static func read(_ path: String) -> Content {
        let diagnostics = Diagnostics()
        if let file = ConfigurationFile.read(path, diagnostics) { return .text(file.text) }
        guard FileManager.default.fileExists(atPath: path) else { return .missing }
        return .unreadable(diagnostics.list.first?.message ?? "cannot be read")
    }
}
