import Telemetry

/// A line that a plugin wrote.
struct PluginLogLine: NamedEvent {
    static let name = "plugin_log_line"
    var level: Level
    var destination: String
    var text: String
    var message: String { "\(destination): \(text)" }
}

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
        \(destination): the plugin did not settle batch \(token) in time; its \(events) events are \
        offered again (\(overdue) batches overdue)
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

/// A batch was settled a second time, or one that the plugin itself had declined.
struct PluginSettlementRepeated: NamedEvent {
    static let name = "plugin_settlement_repeated"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var message: String { "\(destination): the plugin settled batch \(token), which is no longer its own; ignored" }
}

/// A token that was never given out.
struct PluginSettlementUnknown: NamedEvent {
    static let name = "plugin_settlement_unknown"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var message: String { "\(destination): the plugin settled batch \(token), which it was never given; ignored" }
}

/// Outcomes that cannot be read as the interface says.
struct PluginOutcomesUnreadable: NamedEvent {
    static let name = "plugin_outcomes_unreadable"
    var level: Level { .warning }
    var destination: String
    var token: UInt64
    var problem: String
    var message: String { "\(destination): the plugin's outcomes for batch \(token): \(problem)" }
}

/// The plugin lost its connection, in its own words.
struct PluginFailed: NamedEvent {
    static let name = "plugin_failed"
    var level: Level { .warning }
    var destination: String
    var reason: String
    var message: String { "\(destination): the plugin cannot take events: \(reason)" }
}

/// The plugin's data is older than what it held before.
struct PluginStoreWentBack: NamedEvent {
    static let name = "plugin_store_went_back"
    var level: Level { .warning }
    var destination: String
    var before: UInt64
    var now: UInt64?
    var message: String {
        if let now {
            """
            \(destination): the plugin held events up to position \(before), now up to \(now): what \
            came after it is delivered again
            """
        } else {
            """
            \(destination): the plugin held events up to position \(before), now none: delivery goes on \
            from there; `penstock replay \(destination)` brings back what is still in the journal
            """
        }
    }
}

/// A counter or gauge that was not taken.
struct PluginMetricRefused: NamedEvent {
    static let name = "plugin_metric_refused"
    var level: Level { .notice }
    var destination: String
    var metric: String
    var message: String {
        """
        \(destination): the plugin's metric "\(metric)" was not taken: a name has at most \
        \(PluginMetrics.nameLimit) of a-z, 0-9 and '_', and there are at most \(PluginMetrics.limit) of \
        a sort
        """
    }
}
