import Platform
import Telemetry

/// The journal did not take events from datagrams. Nobody else learns of them.
struct DatagramsLost: NamedEvent {
    static let name = "datagrams_lost"
    static let messageID = "5860753b552d57aa90aef8a8c1545d92"
    static let lineLimit = LineLimit.once
    let source: String
    let events: UInt64
    let detail: String
    let level = Level.error
    var fields: [LogField] { [.source(source), .reason(detail), .count(events)] }
    var affectedEvents: UInt64? { events }
    var message: String {
        """
        source "\(source)": \(Readable.counted(events, "event")) from datagrams \(events == 1 ? "is" : "are") lost \
        (journal_full): \(detail); give the journal room (journal.retain, a larger disk), or send events that must not \
        be lost to the stream socket, which acknowledges them
        """
    }
}
