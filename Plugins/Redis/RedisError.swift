/// An error that the server replied, such as `OOM command not allowed when used memory > 'maxmemory'.`
struct RedisError: Error, Equatable {
    enum Class {
        /// A later attempt may succeed on the same connection.
        case passes
        /// The server has become a replica. A new connection may reach the primary.
        case replica
        /// The key: it has another type, or the user may not write to it.
        case key
        /// The operator must change the settings or the server.
        case configuration
    }

    var message: String

    /// The first word.
    var code: Substring { message.prefix { $0 != " " } }

    var kind: Class {
        switch code {
        case "WRONGTYPE": .key
        case "NOPERM": message.contains("key") ? .key : .configuration
        // NOPERM inside of a script.
        case "ERR" where message.contains("one of the keys"): .key
        case "READONLY": .replica
        case "NOAUTH", "WRONGPASS", "MOVED", "ASK", "CROSSSLOT", "DENIED", "NOPROTO": .configuration
        default: .passes
        }
    }

    /// The error, and what the operator can do.
    var advice: String {
        switch code {
        case "NOAUTH": "\(message) Set settings.password"
        case "WRONGPASS": "\(message) Check settings.username and settings.password"
        case "NOPERM":
            """
            \(message) (the user needs the keys and the commands PING, MULTI, EXEC, DISCARD and XADD; with \
            settings.exactly_once: PING, EVAL, HGET, HMGET, HSET and XADD)
            """
        case "MOVED", "ASK", "CROSSSLOT":
            "\(message) (a node of a Redis Cluster: this plugin needs a server without cluster mode)"
        case "WRONGTYPE": "\(message) (the key is not a stream: set another settings.stream)"
        case "READONLY": "\(message) Set settings.address to the primary"
        case "OOM": "\(message) Set settings.max_length, or raise the server's maxmemory"
        default: message
        }
    }
}
