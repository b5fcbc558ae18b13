/// `sources.NAME`
extension Section where Target == Configuration.Source {
    static let source = Section([
        Field("socket", \.socket, .path, required: true, "the Unix stream socket that applications connect to"),
        Field("mode", \.mode, .mode, "permission bits of the socket's file"),
        Field("group", \.group, .word("a group"), "group that the socket's file belongs to"),
        Field("allow", \.allow, .peers, default: "whoever can open the socket", "users and groups that may connect"),
        Field("max_event_size", \.maximumEventSize, .size(64...(16 << 20)), "bytes that one event may have"),
        Field("max_depth", \.maximumDepth, .integer(1...1_000), "levels that an event's JSON may be nested"),
        Field(
            "max_connections", \.maximumConnections, .integer(1...1_000_000), "clients that may be connected at once"),
        Field(
            "max_unread_answers", \.maximumUnreadAnswers, .size((4 << 10)...(64 << 20)),
            "bytes of acknowledgements that a client may leave unread before no more is read from it"),
        .unsupported("datagram", "a datagram socket beside the stream"),
        .unsupported("http", "a TCP listener for HTTP"),
        .unsupported("write_keys", "keys that HTTP clients have to send"),
        .unsupported("rate_limit", "bounds on events for each client"),
        .unsupported("scrub", "transforms before the journal"),
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
