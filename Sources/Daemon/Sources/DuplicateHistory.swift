import Assembly
import DaemonConfiguration
import Events
import Ingest
import Journal
import Platform
import Telemetry

/// Fills a source's memory of message ids from the journal, so that duplicates are recognised across restarts.
///
/// It reads all events of the window, of all sources, as fast as the disk allows. Damaged parts of the journal are
/// skipped: their ids are not known.
struct DuplicateHistory {
    /// Bytes of one read.
    private static let read = 1 << 20
    /// How often `progress` is called.
    private static let interval = Duration.seconds(1)

    let journal: Journal
    let clock: any Clock

    /// - Parameters:
    ///   - end: the position at which to stop. The journal is durable up to it.
    ///   - progress: called about once a second.
    func read(
        into history: Deduplication.History, of source: String, window: Duration, upTo end: UInt64,
        progress: () -> Void
    ) throws(JournalError) {
        let wallClock = clock.wallClock()
        let reader = journal.makeReader(
            from: try journal.position(at: wallClock.saturatingSubtract(window.inNanoseconds)))
        var batch = EventBatch()
        var next = clock.now() + Self.interval
        while reader.position < end, try reader.read(into: &batch, maximumBytes: Self.read) {
            let now = clock.now()
            for event in batch.events where event.position < end && batch.origins[Int(event.origin)].source == source {
                history.add(
                    batch.json(of: event), event.index, end: event.position &+ 1,
                    age: .nanoseconds(wallClock.saturatingSubtract(event.receivedAt)), at: now)
            }
            if now >= next {
                next = now + Self.interval
                progress()
            }
        }
    }
}

extension Daemon {
    /// Everything that can fail when a source's deduplication is turned on, changed or turned off.
    /// - Returns: a closure that puts it into effect.
    func prepareDeduplication(
        of source: Configuration.Source, _ deduplication: Deduplication, _ rollback: inout Rollback
    ) throws -> () -> Void {
        let wanted = source.dedupe.map { Deduplication.Options($0) }
        if wanted == deduplication.options { return {} }
        guard let wanted else { return { deduplication.end() } }
        let began = clock.now()
        let history = deduplication.begin(wanted, at: began)
        rollback.add { deduplication.cancel() }
        let end = journal.statistics().next
        try awaitDurable(end, for: source.name)
        do throws(JournalError) {
            try DuplicateHistory(journal: journal, clock: clock).read(
                into: history, of: source.name, window: wanted.window, upTo: end,
                progress: { keepAlive("reading the message ids of source \(source.name): \(history.ids) found") })
        } catch {
            throw OperatorError("source \"\(source.name)\": the message ids cannot be read (dedupe): \(error)")
        }
        telemetry.emit(MessageIDsRead(source: source.name, ids: history.ids, time: clock.now() - began))
        return { [clock] in deduplication.finish(history, at: clock.now()) }
    }

    /// Waits until events that are queued can be read. At the start, none are.
    private func awaitDurable(_ end: UInt64, for source: String) throws {
        let deadline = clock.now() + Self.drain
        let pause = Doorbell()
        while journal.durableEnd < end {
            guard clock.now() < deadline else {
                throw OperatorError(
                    "source \"\(source)\": dedupe cannot be turned on: the journal has not written the events of the "
                        + "last \(Self.drain.components.seconds) s (journal.sync, or a full disk): try again, or "
                        + "restart the daemon (systemctl restart penstock)")
            }
            pause.wait(until: clock.now() + .milliseconds(5))
        }
    }

    /// The main thread does something that takes long: systemd waits, and does not restart the daemon.
    private func keepAlive(_ sentence: String) {
        service.status(sentence)
        service.extendTimeout(by: .seconds(30))
        service.watchdog()
    }
}

struct MessageIDsRead: NamedEvent {
    static let name = "message_ids_read"
    static let messageID = "d8624212ef5052ddafb42b7fcb6c3780"
    let source: String
    let ids: Int
    let time: Duration
    let level = Level.notice
    var fields: [LogField] { [.source(source), .count(ids)] }
    var message: String {
        "source \"\(source)\": \(Readable.counted(UInt64(clamping: ids), "message id")) read from the journal in "
            + "\(time.inNanoseconds / 1_000_000) ms (dedupe)"
    }
}
