import CNats
import PenstockPluginKit
import Synchronization

/// One instance of the source. A thread keeps a session open and sends the acknowledgements; in a session each lane has
/// a thread that reads it.
///
/// The position of a lane is the stream's sequence of the last message, in decimal digits.
final class NATSSource: Source {
    static let source = SourceDescription(schema: NATSSourceSettings.schema, needs: "network")

    /// How long a stop waits for the rest of a message.
    private static let patience = Duration.seconds(5)

    private let settings: NATSSourceSettings
    private let host: SourceHost
    private let offers: PendingOffers<NATSReceipt>
    private let lanes: [NATSLane]
    private let gate = NATSGate()
    private let problems: NATSProblems
    /// The session that `connect` has opened.
    private var first: (session: NATSSession, number: Int)?
    private var thread: JoinableThread?

    init(settings: NATSSourceSettings, host: SourceHost) throws {
        var settings = settings
        try settings.validate()
        self.settings = settings
        self.host = host
        offers = PendingOffers(host)
        lanes = NATSLane.all(settings)
        problems = NATSProblems(host)
    }

    /// Servers that cannot be reached are no error: the source goes on trying.
    func connect() throws {
        closeFirst()
        do {
            first = try supervisor.open()
            problems.set(nil, nil)
        } catch let error as NATSError where error.isOutage {
            problems.set(nil, supervisor.text(error))
        } catch let error as NATSError {
            throw SourceError(supervisor.text(error))
        }
    }

    func start(_ known: [Lane]) throws {
        for lane in lanes {
            guard let position = known.first(where: { $0.name == lane.name }) else { continue }
            guard let sequence = UInt64(position.text) else {
                let name = lane.name
                throw SourceError(
                    "the stored position \"\(position.text)\" of \(name) is not a sequence: another kind of source "
                        + "wrote it; give this source another name")
            }
            lane.begin(at: sequence)
        }
        let (supervisor, first) = (supervisor, first)
        self.first = nil
        thread = JoinableThread { supervisor.run(first) }
    }

    func ready() { offers.ready() }

    func durable(_ offer: DurableOffer) {
        guard let receipt = offers.durable(offer) else { return }
        // In this order: a lane that is let go first waits until everything is stored, then until it is acknowledged.
        gate.acknowledge(receipt.replies)
        receipt.lane.stored(receipt.last, reply: receipt.replies.last)
    }

    func stop() {
        gate.stop()
        // Otherwise another host would begin with the whole message, and would store the part again.
        gate.messagesAreWhole(within: Self.patience)
        offers.stop()
    }

    func end() {
        gate.end()
        thread?.join()
        thread = nil
        closeFirst()
    }

    private func closeFirst() {
        first?.session.close()
        first = nil
    }

    private var supervisor: NATSSupervisor {
        NATSSupervisor(
            settings: settings, host: host, offers: offers, lanes: lanes, gate: gate, problems: problems)
    }
}
