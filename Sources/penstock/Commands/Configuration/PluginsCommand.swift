import ArgumentParser
import Assembly
import Control
import Destinations
import Platform
import PluginHosting
import PluginSources

struct PluginsCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
        commandName: "plugins", abstract: "List, inspect or create plugins.",
        subcommands: [PluginsList.self, PluginsInspect.self, PluginsNew.self])
}

struct PluginsList: ParsableCommand {
    private static let exitCodes: ExitCodes = [0: "listed"]

    static let configuration = CommandConfiguration(
        commandName: "list", abstract: "List the plugins in a directory.",
        discussion: """
            Plugins that cannot be loaded are listed on stderr, with the reason.

            \(exitCodes)
            """)

    @Option(help: "The directory to search.", completion: .directory)
    var directory: [String] = Installation.pluginDirectories

    func run() throws {
        var table = TextTable("NAME", "VERSION", "TYPE", "SUMMARY", "FILE")
        for (path, result) in PluginInspection.list(directory) {
            switch result {
            case .success(let plugin):
                let roles = plugin.roles.map(\.role.rawValue).joined(separator: ", ")
                table.add(plugin.name, plugin.version, roles, plugin.summary, path)
            // It names the file.
            case .failure(let error): printError("\(error)")
            }
        }
        print(table.render(), terminator: "")
    }
}

struct PluginsInspect: ParsableCommand {
    private static let exitCodes: ExitCodes = [
        0: "shown; with --conformance: every check passed or was skipped",
        1: "the plugin cannot be loaded; with --conformance: a check failed",
    ]

    static let configuration = CommandConfiguration(
        commandName: "inspect", abstract: "Show a plugin's name, version, ABI, type and settings, or test it.",
        discussion: """
            With --conformance, the plugin is called as a daemon may call it, each check in a process of its own: in \
            all orders of its functions, with unusual settings and events, with batches in flight when it stops. A \
            sink delivers the events of the checks to where its settings point: use a file or a server for tests. A \
            source is told that the events it offers are stored, although they are not: let its settings point to \
            events for tests.

            \(exitCodes)
            """
    )

    @Argument(help: "The plugin's file.", completion: .pluginFile)
    var file: String

    @Flag(help: "Test whether the plugin keeps the contract of penstock_plugin.h.")
    var conformance = false

    @Flag(help: "With --conformance: test a plugin that is both a sink and a source as a source.")
    var source = false

    @Option(help: "With --conformance: the plugin's settings, as a JSON object. Default: {}.")
    var settings: String?

    @Option(help: "With --conformance: the time limit in seconds for each call and each batch.")
    var deadline = 10

    func validate() throws {
        guard conformance || settings == nil else { throw ValidationError("--settings needs --conformance") }
        guard conformance || !source else { throw ValidationError("--source needs --conformance") }
        guard (1...86_400).contains(deadline) else { throw ValidationError("--deadline takes 1 to 86400 seconds") }
    }

    func run() throws {
        try conformance ? test() : show()
    }

    private func test() throws {
        var counts = (passed: 0, failed: 0, skipped: 0)
        let conforms = try runChecks { check, verdict in
            switch verdict {
            case .passed:
                counts.passed += 1
                print("pass  \(check)")
            case .failed(let reason):
                counts.failed += 1
                print("FAIL  \(check)\n      \(reason)")
            case .skipped(let reason):
                counts.skipped += 1
                print("skip  \(check): \(reason)")
            }
        }
        print("\(counts.passed) passed, \(counts.failed) failed, \(counts.skipped) skipped")
        if !conforms { throw ExitCode(1) }
    }

    private func runChecks(_ report: (_ check: String, ConformanceChecks.Verdict) -> Void) throws -> Bool {
        let (settings, directory) = (settings ?? "{}", TrustedFile.resolve(".") ?? "/")
        if try source || PluginInspection(of: file).roles.map(\.role) == [.source] {
            let run = SourceConformance(
                of: file, settings: settings, directory: directory, deadline: .seconds(deadline))
            try run.validateSettings()
            return run.run(report)
        }
        let run = PluginConformance(of: file, settings: settings, directory: directory, deadline: .seconds(deadline))
        try run.validateSettings()
        return run.run(report)
    }

    private func show() throws {
        let plugin = try PluginInspection(of: file)
        print("name:     \(plugin.name)")
        print("version:  \(plugin.version)")
        print("summary:  \(plugin.summary)")
        print("abi:      \(plugin.abi)")
        print("type:     \(plugin.roles.map(\.role.rawValue).joined(separator: ", "))")
        for role in plugin.roles {
            // A plugin that is both has two of each.
            if plugin.roles.count > 1 { print("as a \(role.role.rawValue):") }
            print("needs:    \(role.needs.map { $0.isEmpty ? "nothing" : $0 } ?? "not described by the plugin")")
            print("settings: \(role.schema ?? "not described by the plugin")")
        }
    }
}
