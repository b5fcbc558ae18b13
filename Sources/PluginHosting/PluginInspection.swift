import Platform

/// The facts that `penstock plugins` shows about a file. The library is loaded and its entry function is called in a
/// process that ends then, so the file must pass the same ownership checks, but no instance is created.
package struct PluginInspection: Sendable {
    package let path: String
    package let name: String
    package let version: String
    package let summary: String
    /// The interface version that it was compiled with, such as "1.0".
    package let abi: String
    /// What it is, in the order of `PluginRole`.
    package let roles: [Role]

    /// What the plugin needs in one role.
    package struct Role: Sendable {
        package let role: PluginRole
        /// nil: any settings are valid.
        package let schema: String?
        /// What it uses beyond its own memory, in words; nil: anything.
        package let needs: String?

        fileprivate init(_ role: PluginRole, _ settings: PluginSettings) {
            self.role = role
            schema = settings.schema.map { PluginText.printable($0, limit: SettingsSchema.sizeLimit, lines: true) }
            needs = settings.needs.map { PluginText.printable($0, limit: 4096) }
        }
    }

    /// - Parameter program: the plugin host.
    package init(of path: String, program: String = PluginHostProgram.path) throws(PluginError) {
        try self.init(PluginDescription.read(PluginFile(at: path), program: program))
    }

    private init(_ library: PluginDescription) {
        path = library.path
        name = library.name
        version = library.version
        summary = library.summary
        abi = "\(library.abi.major).\(library.abi.minor)"
        roles =
            (library.sink.map { [Role(.sink, $0)] } ?? []) + (library.source.map { [Role(.source, $0)] } ?? [])
    }

    /// Every `*.so` in the directories in order of name, each with its inspection or an error. An unreadable directory
    /// is one entry with an error.
    package static func list(
        _ directories: [String], program: String = PluginHostProgram.path
    ) -> [(path: String, result: Result<PluginInspection, PluginError>)] {
        var entries: [(path: String, result: Result<PluginInspection, PluginError>)] = []
        for directory in directories {
            do {
                for name in try SystemDisk().list(directory).sorted() where name.hasSuffix(".so") {
                    let path = "\(directory)/\(name)"
                    entries.append(
                        (path, Result { () throws(PluginError) in try PluginInspection(of: path, program: program) }))
                }
            } catch {
                entries.append((directory, .failure(PluginError(.notFound, "\(error)"))))
            }
        }
        return entries
    }
}
