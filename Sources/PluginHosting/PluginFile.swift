import Platform

/// A plugin's file: found, checked and open. The file that was checked is the file that is loaded: each component of
/// the path is opened before it is checked, and the loader gets the descriptor, not the path.
package struct PluginFile: ~Copyable {
    package let file: TrustedFile
    /// The build id that the linker wrote, in hexadecimal; nil: there is none.
    package let build: String?

    package var path: String { file.path }
    /// Open for reading.
    package var descriptor: FileDescriptor {
        _read { yield file.descriptor }
    }

    /// Finds NAME.so or libNAME.so. Searches the directories in order.
    package init(named name: String, in directories: [String]) throws(PluginError) {
        let allowed = name.utf8.allSatisfy { byte in
            switch byte {
            case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
                UInt8(ascii: "0")...UInt8(ascii: "9"), UInt8(ascii: "_"), UInt8(ascii: "-"), UInt8(ascii: "."):
                true
            default: false
            }
        }
        guard allowed, !name.isEmpty, !name.hasPrefix(".") else {
            throw PluginError(
                .notFound,
                """
                "\(name)" is not the name of a plugin: give the file's name without .so, in letters, \
                digits, '_', '-' and '.'; its directory belongs under plugins.directories
                """
            )
        }
        if let (candidate, directory) = Self.find(name, in: directories) {
            try self.init(at: candidate, below: directory)
            return
        }
        throw PluginError(
            .notFound,
            """
            there is no plugin "\(name)": looked for \(name).so and lib\(name).so in \
            \(directories.isEmpty ? "no directory, since none is configured" : directories.joined(separator: ", ")); \
            install it there, or add its directory to plugins.directories
            """
        )
    }

    /// The file with which `init(named:in:)` would begin; nil: there is none.
    static func path(ofPlugin name: String, in directories: [String]) -> String? { find(name, in: directories)?.path }

    private static func find(_ name: String, in directories: [String]) -> (path: String, directory: String)? {
        for directory in directories {
            for path in ["\(directory)/\(name).so", "\(directory)/lib\(name).so"] where TrustedFile.exists(path) {
                return (path, directory)
            }
        }
        return nil
    }

    /// The names of the plugins in these directories.
    package static func names(in directories: [String]) -> [String] {
        let files = directories.flatMap { (try? SystemDisk().list($0)) ?? [] }
        let names = files.filter { $0.hasSuffix(".so") }.map { String($0.dropLast(3)) }
        return names.map { $0.hasPrefix("lib") ? String($0.dropFirst(3)) : $0 }.sorted()
    }

    /// Opens one file anywhere. With `directory`, the resolved path must be below that directory.
    package init(at path: String, below directory: String? = nil) throws(PluginError) {
        guard let resolved = TrustedFile.resolve(path) else {
            throw PluginError(.notFound, "\(SystemError("open", path)): give the path of a plugin's file")
        }
        if let directory {
            let parent = TrustedFile.resolve(directory) ?? directory
            guard resolved.hasPrefix(parent.hasSuffix("/") ? parent : parent + "/") else {
                throw PluginError(
                    .notTrusted,
                    """
                    \(path) resolves to \(resolved), outside of \(parent): put the file itself there, or \
                    add its directory to plugins.directories
                    """
                )
            }
        }
        let trusted = try Self.open(resolved)
        build = try ELFFile(resolved, trusted.descriptor).build
        file = trusted
    }

    private static func open(_ path: String) throws(PluginError) -> TrustedFile {
        do throws(TrustedFile.Problem) {
            return try TrustedFile(at: path)
        } catch {
            throw Self.error(error)
        }
    }

    private static func error(_ problem: TrustedFile.Problem) -> PluginError {
        switch problem {
        case .ownedByOther(let path, let user):
            PluginError(
                .notTrusted,
                "\(path) belongs to user \(user), who could replace the plugin's code; run: chown root \(path)")
        case .writableByOthers(let path):
            PluginError(
                .notTrusted,
                "other users can write to \(path) and could replace the plugin's code; run: chmod go-w \(path)")
        case .notARegularFile(let path):
            PluginError(.notLoadable, "\(path) is not a regular file: give the path of a plugin's .so")
        case .failed(let error):
            PluginError(.notFound, "cannot open the plugin's file: \(error)")
        }
    }
}
