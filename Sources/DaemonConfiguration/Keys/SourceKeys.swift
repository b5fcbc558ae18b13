/// A source during reading. Its `scrub:` and write keys need secrets, which are read later.
struct SourceDraft: Sendable, PluginUser {
    var source = Configuration.Source(name: "", socket: "")
    var http = HTTPListenerDraft()
    var writeKeys: [SecretTemplate] = []
    var scrub: [YAMLNode] = []
    var plugin = PluginDraft()

    /// Transforms allowed before an event is stored: those that only remove or obscure.
    static let scrubbing = ["drop", "hash", "mask", "redact"]
}

/// The two kinds of source. A key selects each: `socket` or `http` (or both) a source that applications connect to, and
/// `plugin` a source plugin.
enum SourceKind: String, CaseIterable, Sendable {
    case socket, plugin

    /// The keys that select this kind.
    var keys: [String] { self == .socket ? ["socket", "http"] : ["plugin"] }

    init?(selectedBy key: String) {
        guard let kind = Self.allCases.first(where: { $0.keys.contains(key) }) else { return nil }
        self = kind
    }
}

/// `sources.NAME`: the common keys, and those of each kind.
extension Section where Target == SourceDraft {
    static let common: [Field<SourceDraft>] = [
        Field("max_event_size", \.source.maximumEventSize, .size(64...(16 << 20)), "the maximum size of an event"),
        Field("max_depth", \.source.maximumDepth, .integer(1...1_000), "the maximum nesting depth of an event's JSON"),
        Field(
            "ids", \.source.ids, .choice,
            "what happens to an event with a number in userId, anonymousId, previousId, groupId or messageId: it is"
                + " refused, or the number becomes a string"),
        Field(
            "invalid_text", \.source.invalidText, .choice,
            "what happens to an event with half of a surrogate pair in a string, such as an emoji that was cut in two:"
                + " it is refused, or the half becomes U+FFFD"),
        Field(
            "scrub", \.scrub, .transforms,
            "the transforms that remove or hide values before an event is stored: drop, hash, mask, redact"),
    ]

    private static let own: [SourceKind: [Field<SourceDraft>]] = [
        .socket: socket + [rateLimit] + http,
        .plugin: plugin("a source plugin", deadline: "a call of the plugin") + [
            Field(
                "window", \.source.window, .size((64 << 10)...(1 << 30)),
                "the maximum size of the events that the plugin has offered and that are not stored yet; above it, the"
                    + " plugin waits"),
            Field(
                "ready_lag", \.source.readyLag, .duration(.seconds(1)...days(3_650)),
                "how far the plugin may be behind: the maximum age of the newest events of a lane, counted from when"
                    + " another host received them; above it, GET /ready answers 503 if all sources are plugins"),
        ],
    ]

    private static let socket: [Field<SourceDraft>] = [
        Field(
            "socket", \.source.socket, .path,
            "the Unix stream socket that applications connect to; a source without a plugin needs socket, http or"
                + " both"),
        Field("mode", \.source.mode, .mode, "the permission bits of the socket's file"),
        Field("group", \.source.group, .word("a group"), "the group that owns the socket's file"),
        Field(
            "allow", \.source.allow, .peers, default: "everybody who can open the socket",
            "the users and groups that may connect to the socket"),
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
                + " connection of this user that has been idle longest; as many again may be open that the client has"
                + " closed and the daemon still reads"),
        Field(
            "max_consecutive_refusals", \.source.maximumConsecutiveRefusals, .integer(1...1_000_000_000),
            "the number of refused lines in a row after which the daemon closes a client's connection"),
        Field(
            "max_buffered", \.source.maximumBuffered, .size((1 << 20)...(64 << 30)),
            "the maximum size of the data that is buffered for all clients together (unfinished lines and requests,"
                + " unread answers, TLS sessions); above it, the daemon closes a connection of the user with the most"
                + " data"),
        Field(
            "line_timeout", \.source.lineTimeout, .duration(.milliseconds(100)...days(1)),
            "the maximum time to finish a line; after it, the client is disconnected"),
        Field(
            "idle_timeout", \.source.idleTimeout, .duration(.milliseconds(100)...days(366)), default: "off",
            "the maximum time without data from a client; after it, the client is disconnected"),
        Field(
            "keep_connections", \.source.keepsConnections, .flag,
            "whether connections to the socket survive a restart, an upgrade and a crash of the daemon, without a lost"
                + " or repeated event; it needs systemd"),
        Field(
            "datagram", \.source.datagram, .path, default: "none",
            "a Unix datagram socket beside the stream; each datagram is one event"),
        Field(
            "dedupe", \.source.dedupe, .deduplication, default: "off",
            "recognises events that the source has stored before, by messageId; they are acknowledged and not stored"
                + " again"
        ),
    ]

    static func source(_ kind: SourceKind) -> Section { Section((own[kind] ?? []) + common) }

    /// For a source whose kind is missing: any key, so that only the missing one is reported.
    static let kindlessSource = Section(
        [
            Field("plugin", \.plugin.name, .pluginName, "the name of a source plugin")
        ] + own.sorted { $0.key.rawValue < $1.key.rawValue }.flatMap(\.value).filter { !$0.isRequired } + common)

    /// Explains a key that belongs to the other kind of source.
    static func elsewhere(_ key: String, from kind: SourceKind?) -> String? {
        if let kind, let other = SourceKind(selectedBy: key), other != kind {
            return "a source has either a plugin, or socket and http"
        }
        for other in SourceKind.allCases where other != kind {
            guard (own[other] ?? []).contains(where: { $0.name == key }) else { continue }
            return "\(quoted(key)) belongs to a source with \(quoted(other.rawValue)) instead"
        }
        return nil
    }
}

extension Kind where Value == [Located<SourceDraft>] {
    static var sources: Kind {
        var kind = readSources
        kind.describe {
            .map(
                of: .variants(
                    SourceKind.allCases.map {
                        Variant(keys: $0.keys, shared: Section.source($0).describe(SourceDraft()))
                    }))
        }
        return kind
    }

    private static var readSources: Kind {
        .named("source", SourceDraft(), keys: .kindlessSource) { node in
            let keys = (node.entries ?? []).map(\.key)
            // Two kinds are a separate error; the first one decides how the rest is read.
            let kind = keys.lazy.compactMap(SourceKind.init(selectedBy:)).first
            return (kind.map(Section.source) ?? .kindlessSource, { Section.elsewhere($0, from: kind) })
        }
    }
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
