import PenstockPluginKit
import Synchronization

/// One instance of the source. The reading thread does all the work: see JournalFollower.
///
/// All of the journal is one lane. Its position is the cursor of the last entry that was read, packed into 64 bytes.
final class JournaldSource: Source {
    static let source = SourceDescription(
        schema: JournaldSourceSettings.schema, needs: "files:/var/log/journal files:/run/log/journal")

    /// Of the refused events of an offer, so many are logged. The host counts all.
    private static let shownRefusals = 10

    private let settings: JournaldSourceSettings
    private let host: SourceHost
    private let pending: PendingOffers<Int>
    private let isEnding = Flag()
    /// nil: not connected.
    private var files: JournalFiles?
    private var thread: JoinableThread?

    private final class Flag: Sendable {
        let isSet = Atomic(false)
    }

    init(settings: JournaldSourceSettings, host: SourceHost) throws {
        try settings.validate()
        _ = try JournalFilter(settings)
        _ = try LogEvent(settings)
        self.settings = settings
        self.host = host
        pending = PendingOffers(host)
    }

    func connect() throws {
        files?.close()
        files = nil
        let refused = try JournalAccess.check(directory: settings.directory)
        if let first = refused.first {
            host.log(
                .warning, "files of the journal may not be read, and are left out",
                [
                    "files": "\(refused.count)", "first": first,
                ])
        }
        files = try JournalFiles(directory: settings.directory)
    }

    func start(_ lanes: [Lane]) throws {
        guard let files else { throw SourceError("not connected") }
        var stored: JournalCursor?
        for lane in lanes {
            let (name, position) = (lane.name, lane.position)
            guard name == JournalFollower.laneName, let cursor = JournalCursor(packed: position) else {
                throw SourceError(
                    "the stored position of \(name) is not one of this plugin: another plugin has stored it; give this"
                        + " source a name of its own")
            }
            stored = cursor
        }
        let (settings, host, pending, isEnding) = (settings, host, pending, isEnding)
        thread = JoinableThread { [stored] in
            do {
                let follower = try JournalFollower(settings, host, files, pending)
                follower.run(from: stored) { isEnding.isSet.load(ordering: .acquiring) }
            } catch {
                host.fail("\(error)")
            }
        }
    }

    func ready() { pending.ready() }

    func durable(_ offer: DurableOffer) {
        guard pending.durable(offer) != nil else { return }
        for refusal in offer.refusals.prefix(Self.shownRefusals) {
            host.log(.warning, "an entry's event was refused: \(refusal.reason)")
        }
    }

    func stop() {
        pending.stop()
        isEnding.isSet.store(true, ordering: .releasing)
        files?.wake()
    }

    func end() {
        thread?.join()
        files?.close()
    }
}
