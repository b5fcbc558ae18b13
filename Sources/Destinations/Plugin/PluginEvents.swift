import Telemetry

/// A batch was not settled before its deadline.
struct PluginDeadlinePassed: NamedEvent {
    static let name = "plugin_deadline_passed"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var events: Int
    var overdue: Int
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
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var message: String { "\(destination): the plugin settled batch \(token) after its deadline; ignored" }
}

/// A batch was settled a second time, or after the plugin had declined it.
struct PluginSettlementRepeated: NamedEvent {
    static let name = "plugin_settlement_repeated"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var message: String { "\(destination): the plugin settled batch \(token), which it no longer holds; ignored" }
}

/// A token that was never given to the plugin.
struct PluginSettlementUnknown: NamedEvent {
    static let name = "plugin_settlement_unknown"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var message: String { "\(destination): the plugin settled batch \(token), which it was never given; ignored" }
}

/// Outcomes that don't follow the interface.
struct PluginOutcomesUnreadable: NamedEvent {
    static let name = "plugin_outcomes_unreadable"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var problem: String
    var message: String { "\(destination): the plugin's outcomes for batch \(token): \(problem)" }
}

/// The plugin lost its connection. The reason is the plugin's own text.
struct PluginFailed: NamedEvent {
    static let name = "plugin_failed"
    var level: Level { .warning }
    var destination: String
    var reason: String
    var message: String { "\(destination): the plugin cannot take events: \(reason)" }
}

/// The plugin's data is older than before.
struct PluginStoreWentBack: NamedEvent {
    static let name = "plugin_store_went_back"
    var level: Level { .warning }
    var destination: String
    var before: UInt64
    var now: UInt64?
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
