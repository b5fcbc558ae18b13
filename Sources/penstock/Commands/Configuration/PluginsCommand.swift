import ArgumentParser
import Assembly
import Control
import Destinations

struct PluginsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugins", abstract: "List or inspect sink plugins.",
        subcommands: [PluginsList.self, PluginsInspect.self])
}

struct PluginsList: ParsableCommand {
    private static let exitCodes: ExitCodes = [0: "listed"]

    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the plugins in a directory.",
        discussion: """
            Plugins that cannot be loaded are listed on stderr, with the reason.

            \(exitCodes)
            """)

    @Option(help: "The directory to search.")
    var directory: [String] = Installation.pluginDirectories

    func run() throws {
        var table = TextTable("NAME", "VERSION", "SUMMARY", "FILE")
        for (path, result) in PluginInspection.list(directory) {
            switch result {
            case .success(let plugin): table.add(plugin.name, plugin.version, plugin.summary, path)
            // It names the file.
            case .failure(let error): printError("\(error)")
            }
        }
        print(table.render(), terminator: "")
    }
}

struct PluginsInspect: ParsableCommand {
    private static let exitCodes: ExitCodes = [0: "shown", 1: "the plugin cannot be loaded"]

    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show a plugin's name, version, ABI and settings.", discussion: "\(exitCodes)"
    )

    @Argument(help: "The plugin's file.")
    var file: String

    func run() throws {
        let plugin = try PluginInspection(of: file)
        print("name:     \(plugin.name)")
        print("version:  \(plugin.version)")
        print("summary:  \(plugin.summary)")
        print("abi:      \(plugin.abi)")
        print("settings: \(plugin.schema ?? "not described by the plugin")")
    }
}
