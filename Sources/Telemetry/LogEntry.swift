/// A field of a log entry in systemd's journal.
package struct LogField: Sendable, Equatable {
    /// The names of all fields. The book's page Logs explains each.
    package enum Name: String, Sendable, CaseIterable {
        /// The name of the event's type.
        case event = "PENSTOCK_EVENT"
        case destination = "PENSTOCK_DESTINATION"
        case source = "PENSTOCK_SOURCE"
        /// The plugin's own name.
        case plugin = "PENSTOCK_PLUGIN"
        /// The cause: the text that the message contains, too.
        case reason = "PENSTOCK_REASON"
        /// The path of a file or directory.
        case file = "PENSTOCK_FILE"
        /// How many: of events, letters, files or segments.
        case count = "PENSTOCK_COUNT"
        /// The configuration key of a source's limit.
        case limit = "PENSTOCK_LIMIT"
        /// The first journal position that the entry is about.
        case first = "PENSTOCK_FIRST_POSITION"
        /// The end of the positions, exclusive.
        case end = "PENSTOCK_END_POSITION"
        /// The number of a plugin's batch.
        case batch = "PENSTOCK_BATCH"
        /// The id of a replay.
        case replay = "PENSTOCK_REPLAY"
        /// How many lines were left out.
        case leftOut = "PENSTOCK_LEFT_OUT"
    }

    package var name: Name
    package var value: String

    package init(_ name: Name, _ value: String) {
        self.name = name
        self.value = value
    }

    package static func destination(_ name: String) -> LogField { LogField(.destination, name) }
    package static func source(_ name: String) -> LogField { LogField(.source, name) }
    package static func plugin(_ name: String) -> LogField { LogField(.plugin, name) }
    package static func reason(_ cause: some CustomStringConvertible) -> LogField { LogField(.reason, "\(cause)") }
    package static func file(_ path: String) -> LogField { LogField(.file, path) }
    package static func count(_ count: some BinaryInteger) -> LogField { LogField(.count, "\(count)") }
    package static func limit(_ key: String) -> LogField { LogField(.limit, key) }
    package static func first(_ position: UInt64) -> LogField { LogField(.first, "\(position)") }
    package static func end(_ position: UInt64) -> LogField { LogField(.end, "\(position)") }
    package static func batch(_ token: UInt64) -> LogField { LogField(.batch, "\(token)") }
    package static func replay(_ id: String) -> LogField { LogField(.replay, id) }
    package static func leftOut(_ lines: UInt64) -> LogField { LogField(.leftOut, "\(lines)") }
}

/// One entry of the log.
package struct LogEntry: Sendable, Equatable {
    package var level: Level
    package var message: String
    /// The name and the message id of the event's type; nil: the entry is a plain line.
    package var event: String?
    package var messageID: String?
    package var fields: [LogField]

    /// A plain line.
    package init(_ level: Level, _ message: String) {
        self.level = level
        self.message = message
        fields = []
    }

    package init<Event: NamedEvent>(_ event: Event) {
        level = event.level
        message = event.message
        self.event = Event.name
        messageID = Event.messageID
        fields = event.fields
    }
}

/// Receives log lines.
package protocol LogSink: Sendable {
    /// Any thread. `line` has no trailing line feed.
    func write(_ level: Level, _ line: String)
    /// Any thread. A sink that knows only lines writes the message.
    func write(_ entry: LogEntry)
}

extension LogSink {
    package func write(_ entry: LogEntry) { write(entry.level, entry.message) }
}
