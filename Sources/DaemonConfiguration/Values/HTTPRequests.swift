import Routing

/// The requests of an HTTP destination: one kind or several, and the parts of each that depend on the event.
struct HTTPRequests {
    /// With the alternatives, if there are several kinds.
    let http: Configuration.HTTP
    /// Empty: requests differ only in their events.
    let outputs: [Configuration.Output]

    /// - Parameters:
    ///   - resolve: fills in secrets.
    ///   - fill: fills in a mapping's secrets.
    init(
        _ located: Located<DestinationDraft>, resolve: (SecretTemplate) -> ConcealedText,
        fill: (MappingDraft) -> Configuration.FilledMapping, _ diagnostics: Diagnostics
    ) {
        let drafts = Self.drafts(located, diagnostics)
        let kinds = drafts.map { $0.http.value(resolve) }
        var http = located.draft.http.value(resolve)
        for (kind, draft) in zip(kinds, drafts)
        where draft.http.body != nil && kind.format != .array && kind.format != .single {
            diagnostics.error(
                at: located.place(of: located.found["body"] == nil ? "requests" : "body"),
                "the format \(kind.format.rawValue) takes no body",
                hint: "write format: array, or format: single for one event per request")
        }
        for draft in drafts where draft.http.body == nil && draft.http.limits.contains(where: { $0.scope == .body }) {
            diagnostics.error(
                at: located.place(of: located.found["limits"] == nil ? "requests" : "limits"),
                "a limit is in the body, and there is no body around the events",
                hint: "add body: …, or remove in: body")
        }
        let isPlain =
            drafts.count == 1 && located.draft.requests.isEmpty && kinds[0].values.isEmpty && !kinds[0].hasBody
        if !located.draft.requests.isEmpty { http.alternatives = kinds }
        self.http = http
        guard !isPlain else {
            outputs = []
            return
        }
        outputs = drafts.enumerated().compactMap { number, draft in
            let values = MappingValue.list(
                [.number("\(number)")] + kinds[number].values.map { .string("{{ \($0) }}") }
                    + (draft.http.body.map { [$0.mapping.source] } ?? []))
            do throws(TransformErrors) {
                let envelope = draft.http.body == nil ? try Mapping(values) : try Mapping(aroundEvents: values)
                let mapping: MappingDraft
                if let given = draft.mapping {
                    mapping = given
                } else {
                    mapping = MappingDraft(mapping: try Mapping(Self.wholeEvent), secrets: [])
                }
                return Configuration.Output(
                    condition: draft.rules.condition, isAdditional: draft.isAdditional, mapping: fill(mapping),
                    isWhole: draft.mapping == nil,
                    envelope: fill(MappingDraft(mapping: envelope, secrets: draft.http.body?.secrets ?? [])))
            } catch {
                for error in error.errors {
                    diagnostics.error(at: located.place(of: "body"), error.fault.message, hint: error.fault.hint)
                }
                return nil
            }
        }
    }

    /// The mapping that leaves the event as it is, but adds a missing message id.
    private static let wholeEvent = MappingValue.object([
        .init(
            "$merge",
            .object([
                .init(
                    "objects",
                    .list([
                        .object([.init("$path", .string("$"))]), .object([.init("messageId", .string("$.messageId"))]),
                    ])),
                .init("direction", .string("left")),
            ]))
    ])

    /// Each kind of request, with the keys that all share.
    private static func drafts(_ located: Located<DestinationDraft>, _ diagnostics: Diagnostics) -> [DestinationDraft] {
        var whole = located.draft
        whole.rules.condition = .always
        let keys = AuthenticationKeys(diagnostics: diagnostics)
        keys.check(headers: whole.http.headers, of: whole.http, in: located, at: located.place(of: "headers"))
        guard !whole.requests.isEmpty else { return [whole] }
        var all: Int?
        return whole.requests.enumerated().map { number, node in
            var draft = whole
            let found = Section.request.read(
                node, named: "request \(number + 1) of \(quoted(located.name))", into: &draft, diagnostics)
            if let headers = found["headers"]?.value {
                keys.check(headers: draft.http.headers, of: draft.http, in: located, at: headers.place)
            }
            var seen: Set<String> = []
            for header in found["headers"] == nil ? [] : draft.http.headers
            where !seen.insert(header.name.lowercased()).inserted {
                diagnostics.error(
                    at: found["headers"]?.value.place ?? node.place, "the header \(header.name) is set twice",
                    hint: "remove one of the two")
            }
            if draft.isAdditional { return draft }
            if let all {
                diagnostics.error(
                    at: node.place, "no event reaches request \(number + 1): request \(all + 1) takes every event",
                    hint: "the first request whose where: matches an event applies; put this one before it")
            } else if found["where"].map({ $0.value.scalar?.boolean == true }) ?? true {
                all = number
            }
            return draft
        }
    }
}

/// `destinations.NAME.requests[]`
extension Section where Target == DestinationDraft {
    static let request = Section(
        [
            Field("where", \.rules.condition, .filter, "the events that use this kind of request"),
            Field(
                "also", \.isAdditional, .flag,
                "whether this request is sent for each event that matches, in addition to the first other kind that"
                    + " does"
            ),
            Field("http", \.http.url, .url, "the URL to send to; default: the destination's URL"),
            Field(
                "mapping", \.mapping, .mapping,
                "the data that is sent in place of the event; default: the destination's mapping"),
        ] + perRequest)
}

extension Kind where Value == [YAMLNode] {
    /// The items of a list of requests. They are read once the shared keys are known.
    static var requests: Kind {
        Kind(.filled(.list(of: .section(Section<DestinationDraft>.request.describe(nil))))) { node, key, diagnostics in
            guard let items = node.items, !items.isEmpty else {
                diagnostics.error(
                    at: node.place, "\(quoted(key)) must be a list of requests, not \(node.found)",
                    hint: "write \(key): [ { where: type = \"identify\", http: URL, mapping: … } ]")
                return nil
            }
            return items
        }
    }
}
