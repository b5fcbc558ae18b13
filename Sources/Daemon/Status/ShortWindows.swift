import Ingest
import Platform
import Telemetry

/// Logs that a source forgets message ids before their window is over, at most once in ten minutes for each source.
struct ShortWindows {
    private static let interval = Duration.seconds(600)

    /// The ids that each source had forgotten at its last log line, and when that was.
    private var logged: [String: (forgotten: UInt64, at: Instant)] = [:]

    /// - Parameter sources: the sources that deduplicate.
    /// - Returns: what to log now.
    mutating func check(_ sources: [String: Deduplication.Status], at now: Instant) -> [MessageIDsForgotten] {
        logged = logged.filter { sources[$0.key] != nil }
        return sources.sorted { $0.key < $1.key }.compactMap { name, status in
            let before = logged[name]
            // A reload may have begun a new memory, which counts from 0.
            guard status.forgottenEarly > 0, status.forgottenEarly != before?.forgotten else { return nil }
            if let before, now - before.at < Self.interval { return nil }
            logged[name] = (status.forgottenEarly, now)
            return MessageIDsForgotten(source: name, status: status)
        }
    }
}

struct MessageIDsForgotten: NamedEvent {
    static let name = "message_ids_forgotten"
    static let messageID = "09dc3c89b97b5583a9419a5962e93e3e"
    let source: String
    let status: Deduplication.Status
    let level = Level.warning
    var fields: [LogField] { [.source(source)] }
    var message: String {
        let oldest = Readable.duration(Double(status.oldest?.inNanoseconds ?? 0) / 1e9)
        let window = Readable.duration(Double(status.options.window.inNanoseconds) / 1e9)
        return "source \"\(source)\" remembers message ids of the last \(oldest) instead of \(window): "
            + "\(Readable.counted(UInt64(clamping: status.capacity), "id")) fit into dedupe.max_memory: raise it, "
            + "or shorten dedupe.window"
    }
}
