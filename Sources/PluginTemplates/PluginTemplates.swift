// PluginTemplates: the projects that `penstock plugins new` writes. The templates are files in this directory, compiled
// in, so the program needs no data files. `@NAME@` and its like are placeholders.
//
// Invariant: a project builds and passes the conformance run as it is. This room writes no file.

import CPluginHeader

/// The files of a new plugin's project.
package struct PluginProject: Sendable, Equatable {
    /// One file: its path within the project, and its text.
    package struct File: Sendable, Equatable {
        package let path: String
        package let text: String
    }

    /// In the order in which an author reads them.
    package let files: [File]

    private init(_ files: [(path: String, template: [UInt8])], _ values: [(placeholder: String, value: String)]) {
        self.files = files.map { path, template in
            let text = values.reduce(String(decoding: template, as: UTF8.self)) {
                $0.replacing($1.placeholder, with: $1.value)
            }
            return File(path: path, text: text)
        }
    }

    /// A plugin in C: one file, a makefile and a copy of the header.
    package static func c(_ name: PluginName) -> PluginProject {
        PluginProject(
            [
                ("\(name).c", PackageResources.Sink_c_template), ("penstock_plugin.h", header),
                ("Makefile", PackageResources.Makefile_template), ("README.md", PackageResources.C_README_md_template),
            ], [("@NAME@", name.description)])
    }

    /// A plugin in Swift: a package that depends on Penstock's.
    package static func swift(_ name: PluginName, _ dependency: PenstockDependency) -> PluginProject {
        let sources = "Sources/\(name.module)"
        return PluginProject(
            [
                ("Package.swift", PackageResources.Package_swift_template),
                ("\(sources)/Entry.swift", PackageResources.Entry_swift_template),
                ("\(sources)/LineFileSink.swift", PackageResources.LineFileSink_swift_template),
                ("\(sources)/LineFile.swift", PackageResources.LineFile_swift_template),
                ("README.md", PackageResources.Swift_README_md_template),
            ],
            [
                ("@NAME@", name.description), ("@MODULE@", name.module), ("@IDENTITY@", dependency.identity),
                ("@DEPENDENCY@", dependency.declaration),
            ])
    }

    /// penstock_plugin.h.
    ///
    /// Unsafe part: an array in C, which lives as long as the process.
    private static var header: [UInt8] {
        unsafe Array(UnsafeBufferPointer(start: plugin_header_text(), count: plugin_header_size()))
    }
}
