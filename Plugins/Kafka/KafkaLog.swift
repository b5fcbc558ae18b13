import CKafka
import PenstockPluginKit

/// The texts of the library's events.
enum KafkaLog {
    /// A line of the library's log. The levels are syslog's, like the host's.
    static func read(_ event: OpaquePointer) -> (level: HostServices.Level, line: String)? {
        var (facility, text): (UnsafePointer<CChar>?, UnsafePointer<CChar>?)
        var level: Int32 = 0
        guard unsafe rd_kafka_event_log(event, &facility, &text, &level) == 0,
            let line = unsafe text.map({ unsafe String(cString: $0) })
        else { return nil }
        typealias Level = HostServices.Level
        let known = Level(rawValue: min(max(level, Level.error.rawValue), Level.debug.rawValue))
        return (known ?? .notice, "librdkafka: \(line)")
    }

    /// The text of an error event.
    static func text(_ event: OpaquePointer) -> String {
        unsafe rd_kafka_event_error_string(event).map { unsafe String(cString: $0) } ?? ""
    }
}
