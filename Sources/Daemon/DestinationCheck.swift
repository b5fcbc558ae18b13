import Configuration
import Destinations
import Platform
import Spelling

/// Holds destinations against what serves them: the plugin and its schema, libcurl's idea of a URL, the
/// disk. One whose other keys are wrong is looked at all the same.
struct DestinationCheck {
    let read: ReadConfiguration
    let running: [Configuration.Destination]
    let isRehearsal: Bool
    let diagnostics: Diagnostics

    /// A setting of a plugin's that is a path.
    struct PluginPath {
        var destination: String
        var setting: String
        /// Absolute.
        var path: String
    }

    /// - Returns: what plugins may write to.
    func run() -> [PluginPath] {
        var paths: [PluginPath] = []
        for destination in read.configuration.destinations {
            switch destination.kind {
            case .file(let file): check(file, of: destination.name)
            case .http(let http): check(http, of: destination)
            case .plugin(let plugin):
                // A library that runs is not looked at again: it may have been replaced on disk.
                if !running.contains(destination) { paths += check(plugin, of: destination.name) }
            }
        }
        return paths
    }

    private func keys(_ name: String, _ keys: String...) -> [String] { ["destinations", name] + keys }

    /// What follows from what was said of the same place is not said.
    /// - Parameter message: "what is wrong; what to do" without a hint of its own.
    private func report(_ message: String, hint: String? = nil, at place: Place, isOfMachine: Bool = false) {
        guard !diagnostics.isMentioned(place) else { return }
        var parts = hint == nil ? message.split(separator: "; ").map(String.init) : [message]
        let advice = parts.count > 1 ? parts.removeLast() : hint
        diagnostics.error(at: place, parts.joined(separator: "; "), hint: advice, isOfMachine: isOfMachine)
    }

    // MARK: Kinds

    private func check(_ file: Configuration.File, of name: String) {
        guard !file.path.text.isEmpty else { return }
        let options = FileDestinationOptions(file)
        let place = read.place(of: keys(name, "file"))
        do {
            try FileDestination.validate(options)
        } catch {
            report("\(error)", at: place)
        }
        switch FileDestination.obstacle(options, SystemDisk()) {
        case .inTheWay(let reason): report(reason, hint: DiskObstacle.hint, at: place, isOfMachine: true)
        case .notForUs(let reason) where isRehearsal: diagnostics.warning(at: place, reason)
        case .notForUs, nil: break
        }
    }

    private func check(_ http: Configuration.HTTP, of destination: Configuration.Destination) {
        for (number, error) in HTTPDestination.problems(HTTPOptions(http, inFlight: destination.inFlight)) {
            let option = error.option.split(separator: ".", maxSplits: 1).map(String.init)
            let request = keys(destination.name, "requests")
            guard !read.isBroken(request), !read.isBroken(keys(destination.name) + option.prefix(1)) else { continue }
            let own = number.map { request + ["\($0)"] + option } ?? []
            report(error.problem, at: read.place(of: read.isGiven(own) && !own.isEmpty ? own : keys(destination.name) + option))
        }
    }

    private func check(_ plugin: Configuration.Plugin, of name: String) -> [PluginPath] {
        let directories = ["plugins", "directories"]
        guard !plugin.plugin.isEmpty, !read.isBroken(directories), !read.isBroken(["plugins"]) else { return [] }
        do throws(PluginError) {
            let library = try PluginLibrary.load(PluginFile(named: plugin.plugin, in: read.configuration.plugins.directories))
            guard !read.isBroken(keys(name, "settings")) else { return [] }
            for violation in try library.violations(inSettings: plugin.settings) {
                // Items of lists are numbered in brackets.
                let path = keys(name, "settings") + violation.path.map { $0.hasPrefix("[") ? String($0.dropFirst().dropLast()) : $0 }
                let isKey = violation.isOfKey || !read.isGiven(path)
                report(violation.sentence, hint: violation.hint, at: isKey ? read.place(ofKey: path) : read.place(of: path))
            }
            let resolved = try library.resolvingPaths(inSettings: plugin.settings, from: plugin.directory)
            return try library.paths(inSettings: resolved).map { PluginPath(destination: name, setting: $0.name, path: $0.path) }
        } catch {
            let nearest =
                error.code == .notFound
                ? NearestName.find(plugin.plugin, among: PluginFile.names(in: read.configuration.plugins.directories)) : nil
            report(
                nearest == nil ? error.description : "there is no plugin \(quoted(plugin.plugin))",
                hint: nearest.map { "did you mean \(quoted($0))?" }, at: read.place(of: keys(name, "plugin")), isOfMachine: true)
            return []
        }
    }
}
