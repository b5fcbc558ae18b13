import Platform

/// What `penstock plugins` shows of a file. Looking loads the library and asks its entry function
/// (so the file has to pass the same checks of ownership), but makes no instance.
package struct PluginInspection: Sendable {
    package let path: String
    package let name: String
    package let version: String
    package let summary: String
    /// Version of the interface that it was compiled with: "0.0".
    package let abi: String
    package let schema: String?

    package init(of path: String) throws(PluginError) {
        try self.init(PluginLibrary.load(PluginFile(at: path)))
    }

    private init(_ library: PluginLibrary) {
        path = library.path
        name = library.name
        version = library.version
        summary = library.summary
        abi = "\(library.abi.major).\(library.abi.minor)"
        schema = library.schema
    }

    /// Every `*.so` of the directories in name order, each with what it is or why it is not usable.
    /// A directory that cannot be read is one such entry.
    package static func list(_ directories: [String]) -> [(path: String, result: Result<PluginInspection, PluginError>)]
    {
        var entries: [(path: String, result: Result<PluginInspection, PluginError>)] = []
        for directory in directories {
            do {
                for name in try SystemDisk().list(directory).sorted() where name.hasSuffix(".so") {
                    let path = "\(directory)/\(name)"
                    entries.append((path, Result { () throws(PluginError) in try PluginInspection(of: path) }))
                }
            } catch {
                entries.append((directory, .failure(PluginError(.notFound, "\(error)"))))
            }
        }
        return entries
    }
}
