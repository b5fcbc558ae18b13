/// A source during reading. Its `scrub:` may need secrets, which are read later.
struct SourceDraft: Sendable {
    var source = Configuration.Source(name: "", socket: "")
    var scrub: [YAMLNode] = []

    /// Transforms allowed before an event is stored: those that only remove or obscure.
    static let scrubbing = ["drop", "hash", "mask", "redact"]
}

/// `sources.NAME`
extension Section where Target == SourceDraft {
    static let source = Section([
        Field("socket", \.source.socket, .path, required: true, "the Unix stream socket that applications connect to"),
        Field("mode", \.source.mode, .mode, "permission bits of the socket's file"),
        Field("group", \.source.group, .word("a group"), "group that the socket's file belongs to"),
        Field(
            "allow", \.source.allow, .peers, default: "everybody who can open the socket",
            "users and groups that may connect"),
        Field("max_event_size", \.source.maximumEventSize, .size(64...(16 << 20)), "the most bytes of one event"),
        Field("max_depth", \.source.maximumDepth, .integer(1...1_000), "the most levels of nesting in an event's JSON"),
        Field(
            "max_connections", \.source.maximumConnections, .integer(1...1_000_000),
            "the most clients connected at once"),
        Field(
            "max_unread_answers", \.source.maximumUnreadAnswers, .size((4 << 10)...(64 << 20)),
            "the most bytes of acknowledgements that a client leaves unread; above it, nothing more is read from the"
                + " client"),
        Field(
            "max_connections_per_uid", \.source.maximumConnectionsPerUser, .integer(1...1_000_000),
            "the most connections of one user at once, root included; at the limit, a new connection closes the"
                + " user's longest idle one"),
        Field(
            "max_consecutive_refusals", \.source.maximumConsecutiveRefusals, .integer(1...1_000_000_000),
            "a client's connection is closed after this many refused lines in a row"),
        Field(
            "max_buffered", \.source.maximumBuffered, .size((1 << 20)...(64 << 30)),
            "the most bytes buffered for all clients together (unfinished lines, unread answers); above it, the user"
                + " with the most bytes loses a connection"),
        Field(
            "line_timeout", \.source.lineTimeout, .duration(.milliseconds(100)...days(1)),
            "a client that takes longer to finish a line is disconnected"),
        Field(
            "idle_timeout", \.source.idleTimeout, .duration(.milliseconds(100)...days(366)), default: "off",
            "a client that sends nothing for this long is disconnected"),
        .unsupported("datagram", "a datagram socket beside the stream"),
        .unsupported("http", "a TCP listener for HTTP"),
        .unsupported("write_keys", "keys that HTTP clients have to send"),
        .unsupported("rate_limit", "a limit on each client's rate of events"),
        Field(
            "scrub", \.scrub, .transforms,
            "removes what must not be stored, before the journal: drop, hash, mask, redact"),
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
