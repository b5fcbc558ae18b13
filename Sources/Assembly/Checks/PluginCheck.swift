import DaemonConfiguration
import NameSuggestion
import PluginHosting

/// A setting of a plugin that is a path.
struct PluginPath {
    /// The path of the plugin's keys: destinations.NAME or sources.NAME.
    var keys: [String]
    var setting: String
    /// Absolute.
    var path: String

    /// "destination", "source".
    var owner: String { "\(keys[0].dropLast()) \(quoted(keys[1]))" }
    var place: [String] { keys + ["settings", setting] }
}

/// Checks the plugins of destinations and sources: the file, and the settings against the plugin's schema.
struct PluginCheck {
    let read: ReadConfiguration
    let occasion: ConfigurationCheck.Occasion
    let diagnostics: Diagnostics
    /// Places that have a diagnostic already. Errors that follow from it are not reported.
    private let mentioned: Set<Place>

    init(read: ReadConfiguration, occasion: ConfigurationCheck.Occasion, diagnostics: Diagnostics) {
        self.read = read
        self.occasion = occasion
        self.diagnostics = diagnostics
        mentioned = diagnostics.places
    }

    /// - Returns: the paths that plugins may write to.
    func run() -> [PluginPath] {
        var paths: [PluginPath] = []
        for source in read.configuration.sources {
            guard let plugin = source.plugin, !isRunning({ $0.sources.contains(source) }) else { continue }
            paths += check(plugin, as: .source, ["sources", source.name])
        }
        for destination in read.configuration.destinations {
            guard case .plugin(let plugin) = destination.kind,
                !isRunning({ $0.destinations.contains(destination) })
            else { continue }
            paths += check(plugin, as: .sink, ["destinations", destination.name])
        }
        return paths
    }

    /// Do not inspect a running library again: its file may have been replaced.
    private func isRunning(_ contains: (Configuration) -> Bool) -> Bool {
        if case .reload(let old) = occasion { contains(old) } else { false }
    }

    /// Whether only the destination or the source waits, not the daemon. A wrong name in a new configuration is an
    /// error like others.
    private func isHeld(for error: PluginError) -> Bool {
        switch occasion {
        case .rehearsal: false
        case .start: true
        case .reload: error.code != .notFound
        }
    }

    private func check(_ plugin: Configuration.Plugin, as role: PluginRole, _ keys: [String]) -> [PluginPath] {
        let directories = ["plugins", "directories"]
        guard !plugin.plugin.isEmpty, !read.isBroken(directories), !read.isBroken(["plugins"]) else { return [] }
        do throws(PluginError) {
            let schema = try PluginDescription.read(
                PluginFile(named: plugin.plugin, in: read.configuration.plugins.directories)
            ).settings(as: role)
            guard !read.isBroken(keys + ["settings"]) else { return [] }
            for violation in try schema.violations(in: plugin.settings).prefix(20) {
                // Indices of list items are in brackets.
                let path =
                    keys + ["settings"]
                    + violation.path.map { $0.hasPrefix("[") ? String($0.dropFirst().dropLast()) : $0 }
                let isKey = violation.isOfKey || !read.isGiven(path)
                report(
                    violation.sentence, hint: violation.hint, at: isKey ? read.place(ofKey: path) : read.place(of: path)
                )
            }
            let resolved = try schema.resolvingPaths(in: plugin.settings, from: plugin.directory)
            return try schema.paths(in: resolved).map { PluginPath(keys: keys, setting: $0.name, path: $0.path) }
        } catch {
            report(error, of: plugin.plugin, keys)
            return []
        }
    }

    private func report(_ error: PluginError, of plugin: String, _ keys: [String]) {
        let nearest =
            error.code == .notFound
            ? NearestName.find(plugin, among: PluginFile.names(in: read.configuration.plugins.directories)) : nil
        let message = nearest == nil ? error.description : "there is no plugin \(quoted(plugin))"
        let hint = nearest.map { "did you mean \(quoted($0))?" }
        let place = read.place(of: keys + ["plugin"])
        if isHeld(for: error) {
            let owner = PluginPath(keys: keys, setting: "", path: "").owner
            diagnostics.warning(
                at: place, "\(owner) waits for its plugin: \(message)",
                hint: hint ?? "the daemon tries again; systemctl reload penstock makes it try at once")
        } else {
            report(message, hint: hint, at: place, isOfMachine: true)
        }
    }

    /// - Parameter message: "what is wrong; what to do" if `hint` is nil.
    private func report(_ message: String, hint: String?, at place: Place, isOfMachine: Bool = false) {
        guard !mentioned.contains(place) else { return }
        var parts = hint == nil ? message.split(separator: "; ").map(String.init) : [message]
        let advice = parts.count > 1 ? parts.removeLast() : hint
        diagnostics.error(at: place, parts.joined(separator: "; "), hint: advice, isOfMachine: isOfMachine)
    }
}
