/// A source while it is read: what it scrubs may need secrets.
struct SourceDraft: Sendable {
    var source = Configuration.Source(name: "", socket: "")
    var scrub: [YAMLNode] = []

    /// Transforms that may be used before an event is stored: they take away, and add nothing.
    static let scrubbing = ["drop", "hash", "mask", "redact"]
}

/// `sources.NAME`
extension Section where Target == SourceDraft {
    static let source = Section([
        Field("socket", \.source.socket, .path, required: true, "the Unix stream socket that applications connect to"),
        Field("mode", \.source.mode, .mode, "permission bits of the socket's file"),
        Field("group", \.source.group, .word("a group"), "group that the socket's file belongs to"),
        Field("allow", \.source.allow, .peers, default: "whoever can open the socket", "users and groups that may connect"),
        Field("max_event_size", \.source.maximumEventSize, .size(64...(16 << 20)), "bytes that one event may have"),
        Field("max_depth", \.source.maximumDepth, .integer(1...1_000), "levels that an event's JSON may be nested"),
        Field(
            "max_connections", \.source.maximumConnections, .integer(1...1_000_000), "clients that may be connected at once"),
        Field(
            "max_unread_answers", \.source.maximumUnreadAnswers, .size((4 << 10)...(64 << 20)),
            "bytes of acknowledgements that a client may leave unread before no more is read from it"),
        Field(
            "max_connections_per_uid", \.source.maximumConnectionsPerUser, .integer(1...1_000_000),
            "connections that one user may have at once, root included; at the limit the user's longest idle one is closed for a new one"),
        Field(
            "max_consecutive_refusals", \.source.maximumConsecutiveRefusals, .integer(1...1_000_000_000),
            "refused lines in a row after which a client's connection is closed"),
        Field(
            "max_buffered", \.source.maximumBuffered, .size((1 << 20)...(64 << 30)),
            "bytes held for all clients together (unfinished lines, unread answers); above it the user who holds most loses a connection"),
        Field(
            "line_timeout", \.source.lineTimeout, .duration(.milliseconds(100)...days(1)),
            "how long a client may take to finish a line before its connection is closed"),
        Field(
            "idle_timeout", \.source.idleTimeout, .duration(.milliseconds(100)...days(366)), default: "off",
            "how long a client may send nothing before its connection is closed"),
        .unsupported("datagram", "a datagram socket beside the stream"),
        .unsupported("http", "a TCP listener for HTTP"),
        .unsupported("write_keys", "keys that HTTP clients have to send"),
        .unsupported("rate_limit", "bounds on events for each client"),
        Field("scrub", \.scrub, .transforms, "what must not even be stored: drop, hash, mask, redact"),
    ])
}

extension Kind where Value == Configuration.Peers {
    static var peers: Kind {
        let names = Kind<String>.word("a name")
        let section = Section<Configuration.Peers>([
            Field("users", \.users, .list(names, "users"), "names of users"),
            Field("groups", \.groups, .list(names, "groups"), "names of groups"),
        ])
        return Kind(.section(section.describe(nil))) { node, key, diagnostics in
            var peers = Configuration.Peers()
            section.read(node, named: quoted(key), into: &peers, diagnostics)
            if peers.users.isEmpty, peers.groups.isEmpty {
                diagnostics.warning(
                    at: node.place, "\(quoted(key)) names nobody, so nobody may connect",
                    hint: "name users or groups, or remove the key")
            }
            return peers
        }
    }
}
