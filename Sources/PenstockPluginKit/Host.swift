import CPenstockPlugin
import Glibc

/// The host's services for one sink. Any thread.
///
/// Unsafe part: the host's table, which outlives the sink.
@safe public final class Host: @unchecked Sendable {
    /// Severity of a log line: syslog's numbers.
    public enum Level: Int32, Sendable { case error = 3, warning, notice, info, debug }

    /// The destination's name in the configuration.
    public let destination: String
    /// The id of the journal that positions refer to: in another journal, the same position is another event. Empty if
    /// the host doesn't name it.
    public let journal: String

    private let table: UnsafePointer<penstock_host>

    init(_ table: UnsafePointer<penstock_host>) {
        unsafe self.table = table
        destination = unsafe table.pointee.destination.map { unsafe String(cString: $0) } ?? ""
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

    /// Adds to a counter of this destination. A name has lower-case letters, digits and underscores, at most 64 bytes.
    /// A sink has at most 64 counters and 64 gauges.
    public func count(_ name: String, by amount: UInt64 = 1) {
        unsafe table.pointee.counter_add?(table, name, amount)
    }

    /// Sets a gauge of this destination.
    public func gauge(_ name: String, _ value: Double) { unsafe table.pointee.gauge_set?(table, name, value) }

    /// After `SinkBusy`: the sink can take a batch again.
    public func ready() { unsafe table.pointee.ready?(table) }

    func complete(_ token: UInt64, _ outcomes: [Outcome]) {
        // The reasons, one after the other, each ended by a NUL. The host copies them.
        var reasons: [UInt8] = []
        var starts: [Int?] = []
        var list = unsafe outcomes.map { outcome in
            var raw = unsafe penstock_outcome()
            var reason: String?
            switch outcome {
            case .delivered: unsafe raw.status = PENSTOCK_DELIVERED
            case .retry(let why, let after):
                unsafe raw.status = PENSTOCK_RETRY
                unsafe raw.retry_after_ms = UInt32(clamping: after?.wholeMilliseconds ?? 0)
                reason = why
            case .rejected(let why):
                unsafe raw.status = PENSTOCK_REJECTED
                reason = why
            }
            starts.append(reason == nil ? nil : reasons.count)
            if let reason {
                reasons += reason.utf8
                reasons.append(0)
            }
            return unsafe raw
        }
        unsafe reasons.withUnsafeBytes { reasons in
            for (index, start) in starts.enumerated() {
                guard let start, let base = reasons.baseAddress else { continue }
                unsafe list[index].reason = UnsafePointer((base + start).assumingMemoryBound(to: CChar.self))
            }
            unsafe table.pointee.complete?(
                table, token, list, UInt32(list.count), UInt32(MemoryLayout<penstock_outcome>.stride))
        }
    }
}
