import DaemonConfiguration
import Destinations
import Platform

/// Checks whether the paths that a configuration writes to conflict with each other: the journal's files, sockets,
/// destinations, and files that already exist.
struct PathCheck {
    /// A path that is written to, or that must be kept.
    private struct Claim {
        enum Use { case journal, socket, configuration, file, setting }
        var use: Use
        /// Such as "the socket of source …".
        var name: String
        /// As configured, absolute.
        var text: String
        var path: WrittenPath
        /// nil: the path is a default.
        var place: Place?
    }

    let read: ReadConfiguration
    let pluginPaths: [PluginPath]
    let diagnostics: Diagnostics
    private let disk = SystemDisk()

    init(read: ReadConfiguration, pluginPaths: [PluginPath], diagnostics: Diagnostics) {
        self.read = read
        self.pluginPaths = pluginPaths
        self.diagnostics = diagnostics
    }

    func run() {
        // A path inside the journal's directory must move, so its other conflicts do not matter.
        var kept: [Claim] = []
        for later in claims {
            var isInJournal = false
            for earlier in kept where !isInJournal {
                isInJournal = compare(later, earlier) && earlier.use == .journal
            }
            if !isInJournal { kept.append(later) }
        }
        checkDisk()
    }

    // MARK: Paths that are written to

    private var claims: [Claim] {
        let configuration = read.configuration
        func claim(_ use: Claim.Use, _ name: String, _ path: String, _ keys: [String]) -> [Claim] {
            guard !path.isEmpty, !read.isBroken(keys) else { return [] }
            return [
                Claim(
                    use: use, name: name, text: path, path: WrittenPath(path, disk),
                    place: read.isGiven(keys) ? read.place(of: keys) : nil)
            ]
        }
        var claims = claim(
            .journal, "the journal's directory", configuration.journal.directory, ["journal", "directory"])
        claims += claim(.socket, "the control socket", configuration.control.socket, ["control", "socket"])
        if case .socket(let page) = configuration.control.page {
            claims += claim(.socket, "the socket of the page", page, ["control", "page"])
        }
        for source in configuration.sources {
            claims += claim(
                .socket, "the socket of source \(quoted(source.name))", source.socket,
                ["sources", source.name, "socket"])
            claims += claim(
                .socket, "the datagram socket of source \(quoted(source.name))", source.datagram ?? "",
                ["sources", source.name, "datagram"])
        }
        for file in read.files {
            let path = absolutePath(file, in: ".")
            claims.append(
                Claim(
                    use: .configuration, name: "a file of the configuration", text: path, path: WrittenPath(path, disk))
            )
        }
        for destination in configuration.destinations {
            guard case .file(let file) = destination.kind, !file.path.text.isEmpty else { continue }
            claims.append(
                Claim(
                    use: .file, name: "the file of destination \(quoted(destination.name))", text: file.path.text,
                    path: WrittenPath(FileDestinationOptions(file), disk),
                    place: read.place(of: ["destinations", destination.name, "file"])))
        }
        for path in pluginPaths {
            claims += claim(
                .setting, "the \(path.setting) of \(path.owner)", path.path, path.place)
        }
        return claims
    }

    // MARK: Conflicts between paths

    /// - Returns: whether the two conflict, which is then reported.
    private func compare(_ later: Claim, _ earlier: Claim) -> Bool {
        // The configuration's own files are never written.
        guard later.use != .configuration, let meeting = later.path.meeting(earlier.path) else { return false }
        // Configuration has already reported paths that are literally equal.
        if later.use == earlier.use, later.text == earlier.text { return false }
        if later.use == .setting {
            // Two plugins may share a file, and a setting that is a directory may hold anything.
            guard earlier.use != .setting, meeting == .same || earlier.use == .journal && meeting == .below else {
                return false
            }
        }
        let isCertain = later.path.isFixed && earlier.path.isFixed
        let verb = isCertain ? "is" : "can be"
        let message =
            switch meeting {
            case .same: "this path \(isCertain ? "is also" : verb) \(earlier.name)"
            case .below where earlier.use == .journal:
                "this path \(verb) in the journal's directory, where only the journal may have files"
            case .below: "this path \(verb) below \(earlier.name), which is not a directory"
            case .above: "\(earlier.name) \(verb) below this path, which is not a directory"
            }
        let hint =
            switch (later.use, earlier.use) {
            case (_, .journal): "choose a path outside of \(earlier.text)"
            case (.socket, .socket): "give each source its own socket"
            case (.file, .file) where isCertain && meeting == .same:
                "use one destination in several routes, or give each destination its own file"
            case (.file, .file): "give one of the two its own directory"
            default: "choose another path"
            }
        diagnostics.error(
            at: later.place ?? earlier.place ?? read.place(of: []), message, hint: hint,
            note: later.place == nil ? nil : earlier.place.map { .init("it is named here", at: $0) })
        return true
    }

    // MARK: Conflicts with files on disk

    private func checkDisk() {
        let configuration = read.configuration
        check(configuration.journal.directory, ["journal", "directory"])
        var page = ""
        if case .socket(let path) = configuration.control.page { page = path }
        for (path, keys) in [(configuration.control.socket, ["control", "socket"]), (page, ["control", "page"])]
            + configuration.sources.flatMap({
                [($0.socket, ["sources", $0.name, "socket"]), ($0.datagram ?? "", ["sources", $0.name, "datagram"])]
            })
        where !path.isEmpty && !read.isBroken(keys) {
            if UnixListener.isSocket(path) == false {
                diagnostics.error(
                    at: read.place(of: keys), "\(path) exists and is not a socket",
                    hint: "Penstock does not replace it; move it away or choose another path",
                    isOfMachine: true)
            } else {
                check(Path.directory(of: path), keys)
            }
        }
    }

    /// Write access is not checked: a service's directories are created for its own user.
    private func check(_ directory: String, _ keys: [String]) {
        guard !read.isBroken(keys), case .inTheWay(let reason)? = DiskObstacle(makingFilesIn: directory, disk) else {
            return
        }
        diagnostics.error(at: read.place(of: keys), reason, hint: DiskObstacle.hint, isOfMachine: true)
    }
}
