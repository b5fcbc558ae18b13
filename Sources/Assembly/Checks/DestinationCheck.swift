import DaemonConfiguration
import Destinations
import Platform

/// Checks destinations against what they depend on: libcurl's parsing of URLs, the disk. A destination with errors in
/// other keys is checked too.
struct DestinationCheck {
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

    func run() {
        for destination in read.configuration.destinations {
            switch destination.kind {
            case .file(let file):
                if isValid(file, of: destination.name), looksAtDisk(for: destination) {
                    checkDisk(file, of: destination.name)
                }
            case .http(let http):
                check(http, of: destination)
                if looksAtDisk(for: destination) { checkDisk(http.tls, of: destination.name) }
            case .plugin: break
            }
        }
    }

    private func isRunning(_ destination: Configuration.Destination) -> Bool {
        if case .reload(let old) = occasion { old.destinations.contains(destination) } else { false }
    }

    private func looksAtDisk(for destination: Configuration.Destination) -> Bool {
        if case .start = occasion { false } else { !isRunning(destination) }
    }

    private func keys(_ name: String, _ keys: String...) -> [String] { ["destinations", name] + keys }

    /// - Parameter message: "what is wrong; what to do" if `hint` is nil.
    private func report(_ message: String, hint: String? = nil, at place: Place, isOfMachine: Bool = false) {
        guard !mentioned.contains(place) else { return }
        var parts = hint == nil ? message.split(separator: "; ").map(String.init) : [message]
        let advice = parts.count > 1 ? parts.removeLast() : hint
        diagnostics.error(at: place, parts.joined(separator: "; "), hint: advice, isOfMachine: isOfMachine)
    }

    // MARK: Kinds

    /// False if an error was reported, here or before.
    private func isValid(_ file: Configuration.File, of name: String) -> Bool {
        guard !file.path.text.isEmpty else { return false }
        do {
            try FileDestination.validate(FileDestinationOptions(file))
            return true
        } catch {
            report("\(error)", at: read.place(of: keys(name, "file")))
            return false
        }
    }

    private func check(_ http: Configuration.HTTP, of destination: Configuration.Destination) {
        for (number, error) in HTTPDestination.problems(HTTPOptions(http, inFlight: destination.inFlight)) {
            let option = error.option.split(separator: ".", maxSplits: 1).map(String.init)
            let request = keys(destination.name, "requests")
            // Skip values that could not be read.
            guard !http.url.isEmpty || option != ["http"], !read.isBroken(request),
                !read.isBroken(keys(destination.name) + option.prefix(1))
            else { continue }
            // Prefer the request's own option to the one that it shares with the others.
            let places = [number.map { request + ["\($0)"] + option }, keys(destination.name) + option].compactMap(
                \.self)
            report(
                error.problem, at: read.place(of: places.first(where: read.isGiven) ?? keys(destination.name) + option))
        }
    }

    // MARK: The disk

    private func checkDisk(_ file: Configuration.File, of name: String) {
        let place = read.place(of: keys(name, "file"))
        switch FileDestination.obstacle(FileDestinationOptions(file), SystemDisk()) {
        case .inTheWay(let reason): report(reason, hint: DiskObstacle.hint, at: place, isOfMachine: true)
        case .notForUs(let reason):
            warn(reason, hint: "run the check as the daemon's user, or as root, to be sure", at: place)
        case nil: break
        }
    }

    private func checkDisk(_ tls: Configuration.HTTP.TLS, of name: String) {
        let disk = SystemDisk()
        for (key, path) in [("ca_file", tls.caFile), ("certificate", tls.certificate), ("key", tls.key)] {
            guard let path else { continue }
            let place = read.place(of: keys(name, "tls", key))
            let hint = "give the path of a PEM file that the daemon's user may read"
            do {
                guard let status = try disk.status(path) else {
                    report("there is no file \(path)", hint: hint, at: place, isOfMachine: true)
                    continue
                }
                if status.isDirectory { report("\(path) is a directory", hint: hint, at: place, isOfMachine: true) }
                if !disk.mayRead(path) {
                    warn(
                        "\(path) cannot be read by the user who runs this check",
                        hint: "the daemon's user must be able to read it", at: place)
                }
            } catch {
                warn(
                    "\(path) cannot be read by the user who runs this check: \(error)",
                    hint: "the daemon's user must be able to read it", at: place)
            }
        }
    }

    /// Reports a problem that the daemon's user may not have. The daemon reports it at its start.
    private func warn(_ reason: String, hint: String, at place: Place) {
        if case .rehearsal = occasion { diagnostics.warning(at: place, reason, hint: hint) }
    }
}
