import ArgumentParser
import Control
import Daemon
import Destinations

struct PluginsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugins", abstract: "Look at sink plugins.",
        subcommands: [PluginsList.self, PluginsInspect.self])
}

struct PluginsList: ParsableCommand {
    private static let endings: Endings = [0: "listed"]

    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the plugins in a directory, those that cannot be used included.",
        discussion: "\(endings)")

    @Option(help: "Where to look.")
    var directory: [String] = Installation.pluginDirectories

    func run() throws {
        var table = TextTable("NAME", "VERSION", "SUMMARY", "FILE")
        for (path, result) in PluginInspection.list(directory) {
            switch result {
            case .success(let plugin): table.add(plugin.name, plugin.version, plugin.summary, path)
            case .failure(let error): printError("\(path): \(error)")
            }
        }
        print(table.render(), terminator: "")
    }
}

struct PluginsInspect: ParsableCommand {
    private static let endings: Endings = [0: "shown", 1: "it cannot be used"]

    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show what a plugin's file says about itself.", discussion: "\(endings)")

    @Argument(help: "The plugin's file.")
    var file: String

    func run() throws {
        let plugin = try PluginInspection(of: file)
        print("name:     \(plugin.name)")
        print("version:  \(plugin.version)")
        print("summary:  \(plugin.summary)")
        print("abi:      \(plugin.abi)")
        print("settings: \(plugin.schema ?? "none are described")")
    }
}
