import Platform
import Telemetry

/// Logs the events of a datagram socket that the journal did not take: nobody else learns of them. At most one line per
/// interval, and the rest at the end. It belongs to the thread of `DatagramLoop`.
final class DatagramLosses {
    /// How long further losses after a log line are only counted.
    static let interval = Duration.seconds(10)

    private let source: String
    private let telemetry: Telemetry?
    private var unlogged: UInt64 = 0
    private var detail = ""
    private var logged: Instant?

    init(source: String, telemetry: Telemetry?) {
        self.source = source
        self.telemetry = telemetry
    }

    /// - Parameter detail: why the journal did not take the events.
    func note(_ events: Int, _ detail: String, at now: Instant) {
        unlogged &+= UInt64(events)
        self.detail = detail
        if let logged, now - logged < Self.interval { return }
        logged = now
        log()
    }

    /// Logs what was only counted.
    func log() {
        guard unlogged > 0 else { return }
        telemetry?.emit(DatagramsLost(source: source, events: unlogged, detail: detail))
        unlogged = 0
    }
}

/// The journal did not take events from datagrams.
struct DatagramsLost: NamedEvent {
    static let name = "datagrams_lost"
    let source: String
    /// Events since the last such line.
    let events: UInt64
    let detail: String
    let level = Level.error
    var message: String {
        """
        source "\(source)": \(Readable.counted(events, "event")) from datagrams \(events == 1 ? "is" : "are") lost \
        (journal_full): \(detail); give the journal room (journal.retain, a larger disk), or send events that must not \
        be lost to the stream socket, which acknowledges them
        """
    }
}
