import CPenstockPlugin
import Glibc

/// What the host does for sinks and sources alike. Any thread.
///
/// Unsafe part: the host's table, which outlives the instance.
@safe public class HostServices: @unchecked Sendable {
    /// Severity of a log line: syslog's numbers.
    public enum Level: Int32, Sendable { case error = 3, warning, notice, info, debug }

    /// The name of the destination or the source in the configuration.
    public let name: String
    /// The id of the host's journal. Empty if the host doesn't name it.
    public let journal: String

    let table: UnsafePointer<penstock_host>

    init(_ table: UnsafePointer<penstock_host>) {
        unsafe self.table = table
        name = unsafe table.pointee.destination.map { unsafe String(cString: $0) } ?? ""
        journal = unsafe table.pointee.journal.map { unsafe String(cString: $0) } ?? ""
    }

    /// Whether a line of this level would be logged.
    public func logs(_ level: Level) -> Bool { unsafe table.pointee.log_enabled?(table, level.rawValue) == 1 }

    /// Writes a line to the host's log. The host may drop lines when there are many.
    public func log(_ level: Level, _ message: String, _ fields: KeyValuePairs<String, String> = [:]) {
        guard logs(level) else { return }
        unsafe message.withCString { message in
            let texts = unsafe fields.map { unsafe (strdup($0.key), strdup($0.value)) }
            let list = unsafe texts.map { unsafe penstock_field(name: $0.0, value: $0.1) }
            unsafe table.pointee.log?(table, level.rawValue, message, list, UInt32(list.count))
            var left = unsafe texts[...]
            while let text = unsafe left.popLast() {
                unsafe free(text.0)
                unsafe free(text.1)
            }
        }
    }

    /// Adds to a counter of this destination or source. A name has lower-case letters, digits and underscores, at most
    /// 64 bytes. An instance has at most 64 counters and 64 gauges.
    public func count(_ name: String, by amount: UInt64 = 1) {
        unsafe table.pointee.counter_add?(table, name, amount)
    }

    /// Sets a gauge of this destination or source.
    public func gauge(_ name: String, _ value: Double) { unsafe table.pointee.gauge_set?(table, name, value) }
}
