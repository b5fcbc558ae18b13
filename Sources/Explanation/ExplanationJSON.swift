import DaemonConfiguration
import Delivery
import Destinations
import Events
import Routing

/// The explanation of an event as one line of JSON, for programs. Events are embedded unchanged.
extension EventExplanation {
    package var json: JSONTree {
        var members: [JSONTree.Member] = [
            .init("event", Self.event(text)), .init("bytes", .number(text.count)),
            .init("received", .string(Timestamp.format(receivedAt))), .init("position", .number(position)),
        ]
        if let stored { members.append(.init("stored", Self.event(stored))) }
        if let source = sender.source { members.append(.init("source", .string(source))) }
        if let peer = sender.peer { members.append(.init("peer", peer.json)) }
        switch verdict {
        case .refused(let refusal):
            members.append(
                .init(
                    "refused",
                    .object([
                        .init("reason", .string(refusal.reason.rawValue)), .init("detail", .string(refusal.detail)),
                    ])))
        case .accepted(let destinations):
            members.append(.init("destinations", .object(destinations.map { .init($0.name, $0.json) })))
        }
        return .object(members)
    }

    /// The event as JSON, or as a string if it is not JSON.
    static func event(_ text: [UInt8]) -> JSONTree { JSONTree(text) ?? .string(String(decoding: text, as: UTF8.self)) }
    static func event(_ text: String) -> JSONTree { JSONTree(text) ?? .string(text) }
}

extension TestPeer {
    fileprivate var json: JSONTree {
        let user = user.map { [JSONTree.Member("user", .string($0))] } ?? []
        return .object([.init("uid", .number(uid)), .init("gid", .number(gid)), .init("pid", .number(pid))] + user)
    }
}

extension DestinationExplanation {
    fileprivate var json: JSONTree {
        var members: [JSONTree.Member] = []
        switch verdict {
        case .routed: members.append(.init("verdict", .string("routed")))
        case .filtered(let reason):
            members += [.init("verdict", .string("filtered")), .init("reason", .string(reason))]
        case .rejected(let reason):
            members += [.init("verdict", .string("rejected")), .init("reason", .string(reason))]
        }
        if let route = trace.events.lazy.compactMap(\.taker).first {
            members.append(.init("route", .string(route.name)))
        }
        members.append(
            .init(
                "routes",
                .list(
                    trace.events.flatMap(\.routes).map {
                        .object([.init("name", .string($0.name)), .init("filter", $0.filter.json)])
                    })))
        if let key = trace.events.lazy.compactMap(\.forbiddenBy).first {
            members.append(.init("integration", .string(key)))
        }
        members.append(.init("steps", .list((trace.pipeline + trace.events.flatMap(\.steps)).map { $0.json(isAlone) })))
        if !refused.isEmpty {
            members.append(
                .init(
                    "dead_letters",
                    .list(
                        refused.map {
                            .object([
                                .init("event", EventExplanation.event(event(at: $0.place))),
                                .init("reason", .string($0.reason)),
                            ])
                        })))
        }
        guard verdict == .routed else { return .object(members) }
        members.append(.init("output", .list(events.map(EventExplanation.event))))
        members.append(.init("delivery", delivery.json))
        members.append(
            .init(
                "limits",
                .object([
                    .init("bytes", .number(output.payload.count)), .init("events", .number(output.events.count)),
                    .init("batch_bytes", .number(destination.batch.bytes)),
                    .init("batch_events", .number(destination.batch.events)),
                    .init("max_event_size", .number(destination.maximumEventSize)),
                ])))
        return .object(members)
    }
}

extension FilterTrace {
    fileprivate var json: JSONTree {
        .object([
            .init("text", .string(text)), .init("holds", .bool(isTrue)),
            .init(
                "because",
                .list(
                    reasons.map { condition in
                        .object([
                            .init("text", .string(condition.text)), .init("holds", .bool(condition.isTrue)),
                            .init(
                                "seen",
                                .object(
                                    condition.values.map { seen in
                                        // A missing field differs from null.
                                        .init(
                                            seen.text,
                                            seen.json.map(EventExplanation.event)
                                                ?? .object([.init("missing", .bool(true))]))
                                    })),
                        ])
                    })),
        ])
    }
}

extension StepTrace {
    /// - Parameter isAlone: earlier events are unknown.
    fileprivate func json(_ isAlone: Bool) -> JSONTree {
        var members: [JSONTree.Member] = [.init("step", .string(name)), .init("of", .string(owner.rawValue))]
        if let filter { members.append(.init("where", filter.json)) }
        if looksBack, isAlone { members.append(.init("earlier_events", .string("unknown"))) }
        switch outcome {
        case .passedOver: members.append(.init("outcome", .string("passed_over")))
        case .made(let events) where events == [before]: members.append(.init("outcome", .string("unchanged")))
        case .made(let events):
            members += [
                .init("outcome", .string("changed")), .init("before", EventExplanation.event(before)),
                .init("after", .list(events.map(EventExplanation.event))),
            ]
        case .dropped: members.append(.init("outcome", .string("dropped")))
        case .rejected(let reason):
            members += [.init("outcome", .string("rejected")), .init("reason", .string(reason))]
        }
        return .object(members)
    }
}

extension ExplainedDelivery {
    fileprivate var json: JSONTree {
        switch self {
        case .files(let files):
            .object([
                .init(
                    "files",
                    .list(
                        files.map { file in
                            .object([
                                .init("file", .string(file.path)),
                                .init(
                                    "lines",
                                    .list(
                                        file.lines.map {
                                            // A row of CSV may look like JSON by chance.
                                            file.isCSV
                                                ? .string(String(decoding: $0, as: UTF8.self))
                                                : EventExplanation.event($0)
                                        })),
                            ])
                        }))
            ])
        case .requests(let requests): .object([.init("requests", .list(requests.map(\.json)))])
        case .plugin(let name, let settings, let rows):
            .object([
                .init("plugin", .string(name)), .init("settings", .string(settings)),
                .init(
                    "rows",
                    .list(
                        rows.map {
                            .object([
                                .init("position", .number($0.position)), .init("kind", .string($0.kind.name)),
                                .init("message_id", .string($0.messageID)),
                                .init("payload", EventExplanation.event($0.json)),
                            ])
                        })),
            ])
        case .impossible(let reason): .object([.init("impossible", .string(reason))])
        }
    }
}

extension HTTPRequestPreview {
    fileprivate var json: JSONTree {
        .object([
            .init("method", .string(method)), .init("url", .string(url)),
            .init("headers", .object(shownHeaders.map { .init($0.name, .string($0.value)) })),
            .init("body", EventExplanation.event(body)),
        ])
    }
}
