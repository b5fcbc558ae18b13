import ArgumentParser
import Foundation
import PluginTemplates

struct PluginsNew: ParsableCommand {
    enum Language: String, ExpressibleByArgument, CaseIterable { case swift, c }

    private static let exitCodes: ExitCodes = [
        0: "written",
        1: "the directory exists or cannot be written, or the package of Penstock is not found",
    ]

    static let configuration = CommandConfiguration(
        commandName: "new", abstract: "Write a new plugin's project.",
        discussion: """
            The project is a complete sink, which appends each event as a line to a file. It builds and passes \
            `penstock plugins inspect --conformance` as it is. Change it into your own.

            \(exitCodes)

            Examples:
              penstock plugins new --language c my-store
              penstock plugins new --language swift --package ../penstock my-store
            """)

    @Option(help: "The plugin's language.")
    var language: Language

    @Option(
        help: ArgumentHelp("The directory to write the project's directory to.", valueName: "directory"),
        completion: .directory)
    var directory = "."

    @Option(
        help: ArgumentHelp(
            """
            The package of Penstock that a Swift plugin depends on: a checkout's path, or a repository's URL. Default: \
            the checkout that the current directory is in.
            """, valueName: "path-or-url"))
    var package: String?

    @Argument(help: "The plugin's name.")
    var name: String

    func validate() throws {
        guard let name = PluginName(name) else {
            throw ValidationError("\"\(name)\" is not the name of a plugin: \(PluginName.rule)")
        }
        guard !name.isReserved else {
            throw ValidationError("\(name) is the name of one of Penstock's own libraries: choose another name")
        }
        if language == .c, package != nil {
            throw ValidationError("--package applies to --language swift: a project in C contains the header it needs")
        }
    }

    func run() throws {
        guard let name = PluginName(name) else { throw Self.exitCodes[1] }
        let project: PluginProject =
            switch language {
            case .c: .c(name)
            case .swift: .swift(name, try dependency())
            }
        try write(project)
        let root = shown
        print("wrote \(root): \(project.files.map(\.path).joined(separator: ", "))")
        print("next:\n  cd \(Self.quoted(root))")
        switch language {
        case .c: print("  make\n  make test")
        case .swift:
            print(
                """
                  swift build
                  penstock plugins inspect --conformance --settings "{\\"path\\": \\"$(mktemp -d)/events.ndjson\\"}" \
                .build/debug/lib\(name).so
                """)
        }
    }

    /// The project's directory, as the user reads it.
    private var shown: String {
        directory == "." ? name : (directory.hasSuffix("/") ? directory : directory + "/") + name
    }

    /// For a shell.
    private static func quoted(_ path: String) -> String {
        let plain = path.utf8.allSatisfy { byte in
            byte >= 0x80 || Character(UnicodeScalar(byte)).isLetter || Character(UnicodeScalar(byte)).isNumber
                || "/._-+".utf8.contains(byte)
        }
        return plain ? path : "'" + path.replacing("'", with: "'\\''") + "'"
    }

    /// Creates the directory first. So no file of an existing directory is overwritten.
    private func write(_ project: PluginProject) throws {
        let manager = FileManager.default
        guard manager.fileExists(atPath: directory) else {
            printError("\(directory) does not exist: create the directory, or choose another one with --directory")
            throw Self.exitCodes[1]
        }
        do {
            try manager.createDirectory(atPath: shown, withIntermediateDirectories: false)
        } catch CocoaError.fileWriteFileExists {
            printError("\(shown) exists already: choose another name, or another --directory")
            throw Self.exitCodes[1]
        } catch {
            printError("\(shown): cannot create the directory: \(error.localizedDescription)")
            throw Self.exitCodes[1]
        }
        for file in project.files {
            let path = "\(shown)/\(file.path)"
            do {
                let directory = URL(fileURLWithPath: path).deletingLastPathComponent()
                try manager.createDirectory(at: directory, withIntermediateDirectories: true)
                try Data(file.text.utf8).write(to: URL(fileURLWithPath: path))
            } catch {
                printError("\(path): cannot be written: \(error.localizedDescription)")
                throw Self.exitCodes[1]
            }
        }
    }

    private func dependency() throws -> PenstockDependency {
        if let package, PenstockDependency.isURL(package) { return .url(package) }
        if let package {
            let path = URL(fileURLWithPath: package).standardizedFileURL.path
            guard Self.isCheckout(path) else {
                printError(
                    """
                    \(path) does not contain the package of Penstock: a Swift plugin is built with its \
                    PenstockPluginKit; give a checkout's directory or a repository's URL with --package
                    """)
                throw Self.exitCodes[1]
            }
            return .path(path)
        }
        var directory = URL(fileURLWithPath: FileManager.default.currentDirectoryPath).standardizedFileURL
        while !Self.isCheckout(directory.path) {
            guard directory.path != "/" else {
                printError(
                    """
                    the package of Penstock is not found: a Swift plugin is built with its PenstockPluginKit, and \
                    the current directory is not in a checkout; give a checkout's directory or a repository's URL \
                    with --package
                    """)
                throw Self.exitCodes[1]
            }
            directory.deleteLastPathComponent()
        }
        return .path(directory.path)
    }

    /// Whether the directory contains the package that has the plugin kit.
    private static func isCheckout(_ directory: String) -> Bool {
        guard let manifest = try? String(contentsOfFile: directory + "/Package.swift", encoding: .utf8) else {
            return false
        }
        return manifest.contains("name: \"penstock\"") && manifest.contains("name: \"PenstockPluginKit\"")
    }
}
