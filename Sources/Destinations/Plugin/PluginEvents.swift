import Telemetry

/// A batch was not settled before its deadline.
struct PluginDeadlinePassed: NamedEvent {
    static let name = "plugin_deadline_passed"
    static let messageID = "48ccc13bcbfe536a9d20b571b1283b44"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var events: Int
    var overdue: Int
    var fields: [LogField] { [.destination(destination), .batch(token), .count(events)] }
    var message: String {
        """
        \(destination): the plugin did not settle batch \(token) before its deadline; its \
        \(events == 1 ? "event is" : "\(events) events are") offered again \
        (\(overdue) \(overdue == 1 ? "batch" : "batches") overdue)
        """
    }
}

/// A batch was settled after its deadline.
struct PluginSettlementLate: NamedEvent {
    static let name = "plugin_settlement_late"
    static let messageID = "a4fa2e15746452e18e700a70bffc1966"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var fields: [LogField] { [.destination(destination), .batch(token)] }
    var message: String { "\(destination): the plugin settled batch \(token) after its deadline; ignored" }
}

/// A batch was settled a second time, or after the plugin had declined it.
struct PluginSettlementRepeated: NamedEvent {
    static let name = "plugin_settlement_repeated"
    static let messageID = "08ca7ebfa70b5d8fa0ea17cb66664637"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var fields: [LogField] { [.destination(destination), .batch(token)] }
    var message: String { "\(destination): the plugin settled batch \(token), which it no longer holds; ignored" }
}

/// A token that was never given to the plugin.
struct PluginSettlementUnknown: NamedEvent {
    static let name = "plugin_settlement_unknown"
    static let messageID = "13284db96e8c5d7596015900b4a22f91"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var fields: [LogField] { [.destination(destination), .batch(token)] }
    var message: String { "\(destination): the plugin settled batch \(token), which it was never given; ignored" }
}

/// Outcomes that don't follow the interface.
struct PluginOutcomesUnreadable: NamedEvent {
    static let name = "plugin_outcomes_unreadable"
    static let messageID = "cd18901de8b35dc283c36a9eda96aee6"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var problem: String
    var fields: [LogField] { [.destination(destination), .batch(token), .reason(problem)] }
    var message: String { "\(destination): the plugin's outcomes for batch \(token): \(problem)" }
}

/// The plugin lost its connection. The reason is the plugin's own text.
struct PluginFailed: NamedEvent {
    static let name = "plugin_failed"
    static let messageID = "050c7f5b307456019f392f13c4071322"
    var level: Level { .warning }
    var destination: String
    var reason: String
    var fields: [LogField] { [.destination(destination), .reason(reason)] }
    var message: String { "\(destination): the plugin cannot take events: \(reason)" }
}

/// The plugin's data is older than before.
struct PluginStoreWentBack: NamedEvent {
    static let name = "plugin_store_went_back"
    static let messageID = "b419a40fc9d352c5af084669b46dfd23"
    var level: Level { .warning }
    var destination: String
    var before: UInt64
    var now: UInt64?
    var fields: [LogField] { [.destination(destination)] }
    var message: String {
        if let now {
            """
            \(destination): the plugin's stored position went back from \(before) to \(now); later \
            events are delivered again
            """
        } else {
            """
            \(destination): the plugin has lost its stored position, which was \(before); delivery \
            continues at the cursor; `penstock replay \(destination)` delivers earlier events again, as far as \
            the journal still has them
            """
        }
    }
}
