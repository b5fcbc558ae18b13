import Platform

/// The facts that `penstock plugins` shows about a file. It loads the library and calls its entry function, so the file
/// must pass the same ownership checks, but it creates no instance.
package struct PluginInspection: Sendable {
    package let path: String
    package let name: String
    package let version: String
    package let summary: String
    /// The interface version that it was compiled with, such as "0.0".
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

    /// Every `*.so` in the directories in order of name, each with its inspection or an error. An unreadable directory
    /// is one entry with an error.
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
