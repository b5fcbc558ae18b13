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
        Field("mode", \.source.mode, .mode, "the permission bits of the socket's file"),
        Field("group", \.source.group, .word("a group"), "the group that owns the socket's file"),
        Field(
            "allow", \.source.allow, .peers, default: "everybody who can open the socket",
            "the users and groups that may connect"),
        Field("max_event_size", \.source.maximumEventSize, .size(64...(16 << 20)), "the maximum size of an event"),
        Field("max_depth", \.source.maximumDepth, .integer(1...1_000), "the maximum nesting depth of an event's JSON"),
        Field(
            "max_connections", \.source.maximumConnections, .integer(1...1_000_000),
            "the maximum number of connected clients"),
        Field(
            "max_unread_answers", \.source.maximumUnreadAnswers, .size((4 << 10)...(64 << 20)),
            "the maximum size of the answers that a client has not read yet; above it, the daemon stops reading from"
                + " the client"),
        Field(
            "max_connections_per_uid", \.source.maximumConnectionsPerUser, .integer(1...1_000_000),
            "the maximum number of connections of one user, root included; at the limit, a new connection closes the"
                + " connection of this user that has been idle longest"),
        Field(
            "max_consecutive_refusals", \.source.maximumConsecutiveRefusals, .integer(1...1_000_000_000),
            "the number of refused lines in a row after which the daemon closes a client's connection"),
        Field(
            "max_buffered", \.source.maximumBuffered, .size((1 << 20)...(64 << 30)),
            "the maximum size of the data that is buffered for all clients together (unfinished lines, unread answers);"
                + " above it, the daemon closes a connection of the user with the most data"),
        Field(
            "line_timeout", \.source.lineTimeout, .duration(.milliseconds(100)...days(1)),
            "the maximum time to finish a line; after it, the client is disconnected"),
        Field(
            "idle_timeout", \.source.idleTimeout, .duration(.milliseconds(100)...days(366)), default: "off",
            "the maximum time without data from a client; after it, the client is disconnected"),
        .unsupported("datagram", "a datagram socket beside the stream"),
        .unsupported("http", "a TCP listener for HTTP"),
        .unsupported("write_keys", "the keys that HTTP clients must send"),
        .unsupported("rate_limit", "a limit on each client's rate of events"),
        Field(
            "scrub", \.scrub, .transforms,
            "the transforms that remove or hide values before an event is stored: drop, hash, mask, redact"),
    ])
}

extension Kind where Value == Configuration.Peers {
    static var peers: Kind {
        let names = Kind<String>.word("a name")
        let section = Section<Configuration.Peers>([
            Field("users", \.users, .list(names, "users"), "the names of users"),
            Field("groups", \.groups, .list(names, "groups"), "the names of groups"),
        ])
        return Kind(.section(section.describe(nil))) { node, key, diagnostics in
            var peers = Configuration.Peers()
            section.read(node, named: quoted(key), into: &peers, diagnostics)
            if peers.users.isEmpty, peers.groups.isEmpty {
                diagnostics.warning(
                    at: node.place, "\(quoted(key)) has no names, so no client may connect",
                    hint: "name users or groups, or remove the key")
            }
            return peers
        }
    }
}
