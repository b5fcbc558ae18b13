import NameSuggestion
import Platform
import Routing

/// Turns a draft into a configuration. It does the checks that need the whole configuration (names that must exist,
/// files with two writers, secrets), and fills in the defaults that depend on other values.
struct ConfigurationBuilder {
    let draft: ConfigurationDraft
    /// False if a file could not be read. Then nothing is reported as missing.
    let isComplete: Bool
    let secrets: SecretStore
    let accounts: KnownAccounts
    let presets: PresetCatalogue
    let remembered: RememberedFiles
    let diagnostics: Diagnostics

    /// The result is complete only if no errors were found.
    func build(at place: Place) -> Configuration {
        checkSources(place)
        checkJournal()
        let routes = checkedRoutes()
        checkReach()
        return Configuration(
            sources: draft.sources.map { located in
                var source = located.draft.source
                source.name = located.name
                source.scrub = scrubbing(located.draft)
                HTTPSource(
                    located: located, resolve: { resolve($0) }, isRead: secrets.isRead, diagnostics: diagnostics
                ).fill(&source)
                SourceRateLimit(located: located, diagnostics: diagnostics).check()
                if located.found["plugin"] != nil {
                    source.plugin = plugin(located.draft.plugin, settingsAt: located.place(of: "settings"))
                }
                return source
            },
            journal: draft.journal, plan: draft.plan?.plan(remembered, diagnostics),
            pipeline: steps.steps(draft.pipeline),
            routes: routes, routing: draft.routing, destinations: destinations(), control: draft.control,
            plugins: draft.plugins)
    }

    // MARK: Sources

    private func checkSources(_ place: Place) {
        if draft.sources.isEmpty, isComplete, !diagnostics.hasErrors {
            diagnostics.warning(
                at: draft.found["sources"]?.place ?? place, "there is no source, so the daemon cannot receive events",
                hint: "add sources: { apps: { socket: /run/penstock/events.sock } }")
        }
        checkAddresses()
        var owners: [String: (name: String, place: Place)] = [:]
        if !draft.control.socket.isEmpty {
            owners[draft.control.socket] = ("the control socket", draft.found["control.socket"]?.value.place ?? place)
        }
        checkLength(draft.control.socket, draft.found["control.socket"]?.value.place ?? place)
        if case .socket(let page) = draft.control.page, let entry = draft.found["control.page"] {
            checkLength(page, entry.value.place)
            if let owner = owners[page] {
                diagnostics.error(
                    at: entry.value.place, "\(owner.name) has the same socket", hint: "give the page its own socket",
                    note: .init("it is named here", at: owner.place))
            }
            owners[page] = ("the page", entry.value.place)
        }
        for source in draft.sources {
            checkKind(of: source)
            for (key, path) in [
                ("socket", source.draft.source.socket), ("datagram", source.draft.source.datagram ?? ""),
            ] {
                let place = source.place(of: key)
                checkLength(path, place)
                guard !path.isEmpty else { continue }
                if let owner = owners[path] {
                    diagnostics.error(
                        at: place, "\(owner.name) has the same socket", hint: "give each source its own socket",
                        note: .init("it is named here", at: owner.place))
                } else {
                    owners[path] = ("source \(quoted(source.name))", place)
                }
            }
            checkRoom(for: source)
            if let group = source.draft.source.group, !accounts.hasGroup(group) {
                warnUnknown("group", group, source.place(of: "group"))
            }
            for user in source.draft.source.allow?.users ?? [] where !accounts.hasUser(user) {
                warnUnknown("user", user, source.place(of: user, in: "users"))
            }
            for group in source.draft.source.allow?.groups ?? [] where !accounts.hasGroup(group) {
                warnUnknown("group", group, source.place(of: group, in: "groups"))
            }
        }
    }

    private func checkKind(of source: Located<SourceDraft>) {
        let keys = SourceKind.allCases.flatMap(\.keys)
        guard isComplete, keys.allSatisfy({ source.found[$0] == nil }) else { return }
        diagnostics.error(
            at: source.place, "source \(quoted(source.name)) needs one of \(keys.joined(separator: ", "))",
            hint: "add socket: PATH, http: HOST:PORT or plugin: NAME")
    }

    /// Two listeners cannot have one port of an address.
    private func checkAddresses() {
        var earlier: [(address: SocketAddress, name: String, place: Place)] = []
        for source in draft.sources {
            guard let address = source.draft.http.address else { continue }
            let place = source.place(of: "http")
            if let owner = earlier.first(where: { $0.address.overlaps(address) }) {
                diagnostics.error(
                    at: place, "source \(quoted(owner.name)) listens at \(owner.address) already",
                    hint: "give each source its own port", note: .init("it is named here", at: owner.place))
            }
            earlier.append((address, source.name, place))
        }
        var control = ControlListeners(
            draft: draft, earlier: earlier.map { ($0.address, "source \(quoted($0.name))", $0.place) },
            diagnostics: diagnostics)
        control.check()
    }

    private func checkJournal() {
        let journal = draft.journal
        func place(_ keys: String...) -> Place? {
            keys.lazy.compactMap { draft.found["journal." + $0]?.value.place }.first
        }
        if !journal.segmentSize.isMultiple(of: 4 << 10), let place = place("segment_size") {
            diagnostics.error(
                at: place, "journal.segment_size (\(journal.segmentSize)) is not a multiple of 4KiB",
                hint: "write it in MiB: segment_size: 64MiB")
        }
        let isRead = ["memory", "queue"].allSatisfy { draft.found["journal." + $0]?.isBroken != true }
        if isRead, journal.memory / 4 < journal.queue, let place = place("queue", "memory") {
            diagnostics.error(
                at: place,
                "journal.memory (\(Quantity.text(journal.memory))) is below four times journal.queue"
                    + " (\(Quantity.text(journal.queue)))",
                hint: "make memory larger, or queue smaller")
        }
        let (least, overflow) = journal.segmentSize.multipliedReportingOverflow(by: 3)
        let isKnown = draft.found["journal.segment_size"]?.isBroken != true
        if isKnown, overflow || journal.retainSize < least, let place = place("retain.size", "segment_size") {
            diagnostics.error(
                at: place,
                "journal.retain.size (\(Quantity.text(journal.retainSize))) is below "
                    + "three segments of \(Quantity.text(journal.segmentSize))",
                hint: "make retain.size larger, or segment_size smaller")
        }
    }

    /// An event has to fit into the journal's queue and into one segment.
    private func checkRoom(for source: Located<SourceDraft>) {
        let size = source.draft.source.maximumEventSize
        for (key, room) in [("queue", draft.journal.queue), ("segment_size", draft.journal.segmentSize)]
        where size > room {
            diagnostics.error(
                at: source.place(of: "max_event_size"),
                "an event of \(Quantity.text(size)) does not fit into journal.\(key), which is \(Quantity.text(room))",
                hint: "make max_event_size smaller, or journal.\(key) larger")
        }
    }

    /// `sun_path` of unix(7) has 108 bytes, one of them for the NUL.
    private func checkLength(_ socket: String, _ place: Place) {
        guard socket.utf8.count > 107 else { return }
        diagnostics.error(
            at: place, "the path of a socket has at most 107 bytes, this one has \(socket.utf8.count)",
            hint: "use a shorter directory, such as /run/penstock")
    }

    private func warnUnknown(_ what: String, _ name: String, _ place: Place) {
        diagnostics.warning(
            at: place, "this machine has no \(what) \(quoted(name))", hint: "check the spelling, or create it")
    }

    // MARK: Routes

    private func checkedRoutes() -> [Configuration.Route] {
        let names = Set(draft.destinations.map(\.name))
        var seen: [String: Place] = [:]
        return draft.routes.map { route in
            if route.draft.name != nil {
                if let first = seen[route.name] {
                    diagnostics.error(
                        at: route.place(of: "name"), "another route has the name \(quoted(route.name))",
                        hint: "give each route its own name", note: .init("it was given first here", at: first))
                } else {
                    seen[route.name] = route.place(of: "name")
                }
            }
            if route.draft.to.isEmpty, let to = route.found["to"], to.value.items?.isEmpty == true {
                diagnostics.error(
                    at: to.place, "a route must name a destination", hint: "name one, or remove the route")
            }
            var targets: Set<String> = []
            for target in route.draft.to {
                if !targets.insert(target.name).inserted {
                    diagnostics.error(
                        at: target.place, "this route names \(quoted(target.name)) twice", hint: "remove one of the two"
                    )
                } else if isComplete, !names.contains(target.name) {
                    let nearest = NearestName.find(target.name, among: names.sorted())
                    diagnostics.error(
                        at: target.place, "there is no destination \(quoted(target.name))",
                        hint: nearest.map { "did you mean \(quoted($0))?" } ?? Self.list(names))
                }
            }
            return .init(name: route.name, rules: rules(route.draft.rules), to: route.draft.to.map(\.name))
        }
    }

    private func rules(_ draft: RulesDraft) -> Rules {
        // The destination's own transforms can still change the events that `session:` and `timed:` create.
        Rules(condition: draft.condition, steps: steps.steps(draft.session + draft.timed + draft.transforms))
    }

    private func scrubbing(_ draft: SourceDraft) -> [Rules.Step] {
        var reader = steps
        reader.allowed = SourceDraft.scrubbing
        reader.reason =
            "scrub: allows only \(SourceDraft.scrubbing.joined(separator: ", ")); use this transform in pipeline:"
        return reader.steps(draft.scrub)
    }

    private var steps: StepReader { StepReader(isComplete ? secrets : nil, diagnostics) }

    private static func list(_ names: Set<String>) -> String {
        names.isEmpty
            ? "add it below destinations:" : "the destinations are \(names.sorted().prefix(20).joined(separator: ", "))"
    }

    private func checkReach() {
        guard isComplete else { return }
        let reached = Set(draft.routes.flatMap { $0.draft.to.map(\.name) })
        for destination in draft.destinations where !reached.contains(destination.name) {
            diagnostics.warning(
                at: destination.place, "no route leads to the destination \(quoted(destination.name))",
                hint: "add it to the to: of a route")
        }
    }

    // MARK: Destinations

    private func destinations() -> [Configuration.Destination] {
        var files: [String: (name: String, place: Place)] = [:]
        return draft.destinations.compactMap { located in
            let draft = located.draft
            if draft.retry.initial > draft.retry.max {
                let key = located.found["retry.initial"] == nil ? "retry.max" : "retry.initial"
                diagnostics.error(
                    at: located.place(of: key),
                    "retry.initial (\(Quantity.text(draft.retry.initial))) is longer than "
                        + "retry.max (\(Quantity.text(draft.retry.max)))",
                    hint: "make it shorter")
            }
            guard let kind = DestinationKind.allCases.first(where: { located.found[$0.rawValue] != nil }) else {
                reportKindless(located)
                return nil
            }
            var value: Configuration.Destination.Kind
            var compressed = false
            var outputs: [Configuration.Output] = []
            switch kind {
            case .file:
                let path = draft.file.text
                let compression = Self.compression(path)
                compressed = compression != .none
                if let owner = files[path], !path.isEmpty {
                    diagnostics.error(
                        at: located.place(of: "file"), "destination \(quoted(owner.name)) writes the same file",
                        hint: "use one destination in several routes, or give each destination its own file",
                        note: .init("it is named here", at: owner.place))
                } else {
                    files[path] = (located.name, located.place(of: "file"))
                }
                FileChecks(located: located, diagnostics: diagnostics).run()
                value = .file(
                    .init(
                        path: draft.file, compression: compression, columns: draft.columns?.names,
                        rotateSize: draft.rotateSize, rotateEvery: draft.rotateEvery, timezone: draft.timezone,
                        sync: draft.fileSync, keep: draft.keep, openFiles: draft.openFiles, newFiles: draft.newFiles))
            case .http:
                let requests = HTTPRequests(
                    located, resolve: { resolve($0, singleLine: true) }, fill: fill, diagnostics)
                value = .http(requests.http)
                outputs = requests.outputs
                checkHeaders(located)
            case .plugin:
                var plugin = self.plugin(draft.plugin, settingsAt: located.place(of: "settings"))
                plugin.isolation = draft.isolation
                value = .plugin(plugin)
            }
            if let range = draft.inFlight, range.lowerBound < range.upperBound, kind != .http {
                diagnostics.error(
                    at: located.place(of: "in_flight"), "only an HTTP destination takes a range here",
                    hint: "write a number: in_flight: \(range.upperBound)")
            }
            if draft.rateLimit.burst != nil, draft.rateLimit.eventsPerSecond == nil {
                diagnostics.error(
                    at: located.place(of: "rate_limit.burst"), "a burst needs events_per_second",
                    hint: "add events_per_second, or remove burst")
            }
            if draft.rateLimit.per == .user, draft.order != .user {
                diagnostics.error(
                    at: located.place(of: "rate_limit.per"), "a rate per user needs order: user",
                    hint: kind == .http ? "add order: user" : "only an HTTP destination supports order: user")
            }
            let usual = kind.batch(compressed: compressed)
            return .init(
                name: located.name, preset: preset(draft), kind: value, start: draft.start,
                batch: .init(
                    events: draft.batchEvents ?? usual.events, bytes: draft.batchBytes ?? usual.bytes,
                    wait: draft.batchWait ?? usual.wait),
                inFlight: draft.inFlight ?? kind.inFlight,
                rateLimit: draft.rateLimit == .init() ? nil : draft.rateLimit,
                order: draft.order, retry: draft.retry, rules: rules(draft.rules),
                deadLetters: draft.deadLetters, replay: draft.replay,
                mapping: (draft.columns?.mapping ?? draft.mapping).map(fill), outputs: outputs,
                maximumEventSize: draft.maximumEventSize)
        }
    }

    /// - Parameter place: of the settings. Relative paths in them start from this file's directory.
    private func plugin(_ draft: PluginDraft, settingsAt place: Place) -> Configuration.Plugin {
        .init(
            plugin: draft.name, settingsText: resolve(draft.settings),
            directory: absolutePath(".", in: ConfigurationFile.directory(of: place.file)), limits: draft.limits,
            deadline: draft.deadline)
    }

    private func preset(_ draft: DestinationDraft) -> Configuration.Destination.Preset? {
        draft.preset.flatMap { presets.read($0)?.preset }.map { .init(name: $0.name, title: $0.title) }
    }

    private func reportKindless(_ located: Located<DestinationDraft>) {
        // A preset determines the kind, and reports its own errors.
        guard isComplete, located.found["preset"] == nil else { return }
        diagnostics.error(
            at: located.place, "destination \(quoted(located.name)) needs one of file, http, plugin",
            hint: "add file: PATH, http: URL or plugin: NAME")
    }

    /// Empty if a file could not be read, since that file may say where secrets are kept.
    private func resolve(_ template: SecretTemplate, singleLine: Bool = false) -> ConcealedText {
        isComplete ? secrets.resolve(template, singleLine: singleLine) : ConcealedText(pieces: [])
    }

    private func fill(_ draft: MappingDraft) -> Configuration.FilledMapping {
        let filled = resolve(SecretTemplate(pieces: draft.secrets))
        return .init(
            mapping: draft.mapping,
            secrets: filled.pieces.compactMap { if case .secret(let secret) = $0 { secret } else { nil } })
    }

    private func checkHeaders(_ located: Located<DestinationDraft>) {
        AuthenticationKeys(diagnostics: diagnostics).check(located)
        var seen: Set<String> = []
        for header in located.draft.http.headers where !seen.insert(header.name.lowercased()).inserted {
            diagnostics.error(
                at: located.place(of: "headers"), "the header \(header.name) is set twice",
                hint: "remove one of the two")
        }
    }

    private static func compression(_ path: String) -> Configuration.File.Compression {
        if path.hasSuffix(".gz") { return .gzip }
        return path.hasSuffix(".zst") ? .zstd : .none
    }
}

extension Located where Draft == SourceDraft {
    /// The place of a name in `allow`.
    fileprivate func place(of name: String, in list: String) -> Place {
        let names = found["allow"]?.value.entries?.first { $0.key == list }?.value.items
        return names?.first { $0.scalar?.text == name }?.place ?? place(of: "allow")
    }
}
