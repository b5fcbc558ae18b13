import Control
import Delivery
import Events
import Ingest
import Journal
import Platform
import Synchronization

/// One tap: its thread collects what passes, applies the filter, and sends records to the client, at most some thousand
/// a second. It works in rounds, so it sleeps at least three quarters of the time.
final class Tapper: Sendable {
    /// A round begins this often, and takes at most this long.
    private static let period = Duration.milliseconds(20)
    private static let longestRound = Duration.milliseconds(5)
    /// The bytes of one read of the journal.
    private static let readSize = 256 << 10
    /// The same of a sampled tap, with fewer and shorter rounds. It reads some events in each, and continues at the end
    /// of the journal.
    private static let sampledPeriod = Duration.milliseconds(100)
    private static let longestSampledRound = Duration.milliseconds(1)
    private static let sampledReadSize = 16 << 10
    private static let sampledReads = 8
    /// How many positions the tap may be behind before it continues at the end of the journal.
    private static let largestLag: UInt64 = 50_000
    /// How long a client may read nothing while there is something to read.
    private static let patience = Duration.seconds(300)

    let queue = TapQueue()
    private let order: TapOrder
    private let matcher: TapMatcher?
    private let journal: Journal
    private let status: StatusCollector
    private let clock: any Clock
    private let reply: ControlReply
    private let onEnd: @Sendable (Tapper) -> Void
    private let interruption = Interruption()
    private let bell = Doorbell()
    private let thread = Mutex<WorkerThread?>(nil)
    private let isOver = Atomic(false)
    /// What passed before the tap was made is not shown.
    private let first: UInt64
    private let places: [String: SourceStatistics.RefusalPlace]

    init(
        _ order: TapOrder, _ matcher: TapMatcher?, journal: Journal, status: StatusCollector, clock: any Clock,
        reply: ControlReply, onEnd: @escaping @Sendable (Tapper) -> Void
    ) {
        self.order = order
        self.matcher = matcher
        self.journal = journal
        self.status = status
        self.clock = clock
        self.reply = reply
        self.onEnd = onEnd
        first = journal.durableEnd
        places = status.sourceStatistics.mapValues(\.refusalEnd)
    }

    /// Whether it needs to see what passes the destinations.
    var watchesDestinations: Bool { order.stages != [.accepted] }

    func watches(_ stage: TapOrder.Stage, of destination: String) -> Bool {
        order.stages.contains(stage) && (order.destination ?? destination) == destination
    }

    /// - Throws: the process may not create another thread now.
    func start() throws(SystemError) {
        let thread = try WorkerThread(trying: "tap") {
            self.run()
            self.onEnd(self)
            self.isOver.store(true, ordering: .releasing)
        }
        self.thread.withLock { $0 = thread }
    }

    /// Any thread; returns at once.
    func requestStop() {
        interruption.raise()
        bell.ring()
    }

    /// Releases the thread of a tap that is over.
    /// - Returns: false while it still runs.
    func reap() -> Bool {
        guard isOver.load(ordering: .acquiring) else { return false }
        thread.withLock { $0.take() }?.join()
        return true
    }

    // MARK: The thread

    private func run() {
        let lines = reply.startLines()
        var stream = TapStream(lines, limit: order.limit, rate: order.rate ?? TapPace.records, now: clock.now())
        let reader = order.stages.contains(.accepted) ? journal.makeReader(from: first) : nil
        var places = places
        var batch = EventBatch()
        while !interruption.isRaised, !lines.isClosed, !stream.isComplete {
            let began = clock.now()
            stream.begin(now: began)
            let end = began + (isSampled ? Self.longestSampledRound : Self.longestRound)
            do throws(JournalError) {
                if let reader { try collectAccepted(reader, &batch, into: &stream, until: end) }
                try collectPassed(into: &stream, until: end)
            } catch {
                stream.end(because: "the journal cannot be read: \(error)")
                return lines.finish()
            }
            if watchesSources { collectRefused(&places, into: &stream) }
            stream.flush()
            if began - stream.progressed > Self.patience {
                stream.end(because: "nothing was read for \(Readable.duration(Self.patience))")
                return lines.finish()
            }
            if !stream.isComplete { bell.wait(until: began + (isSampled ? Self.sampledPeriod : Self.period)) }
        }
        if interruption.isRaised { stream.end(because: "the daemon is stopping") }
        lines.finish()
    }

    var isSampled: Bool { order.rate != nil }
    private var watchesSources: Bool { order.stages.contains(.refused) && order.destination == nil && matcher == nil }

    private func collectAccepted(
        _ reader: JournalReader, _ batch: inout EventBatch, into stream: inout TapStream, until end: Instant
    ) throws(JournalError) {
        if isSampled { return try collectSample(reader, &batch, into: &stream, until: end) }
        while clock.now() < end, try reader.read(into: &batch, maximumBytes: Self.readSize) {
            for event in batch.events {
                if let matcher, !matcher.matches(event, of: batch) { continue }
                stream.add { TapRecord.accepted(event, of: batch) }
            }
        }
        let durable = journal.durableEnd
        if durable > reader.position, durable - reader.position > Self.largestLag {
            stream.miss(try reader.skipToEnd())
        }
    }

    /// Reads some events, and passes over the others.
    private func collectSample(
        _ reader: JournalReader, _ batch: inout EventBatch, into stream: inout TapStream, until end: Instant
    ) throws(JournalError) {
        var reads = 0
        while reads < Self.sampledReads, stream.hasRoom, clock.now() < end,
            try reader.read(into: &batch, maximumBytes: Self.sampledReadSize)
        {
            reads += 1
            for event in batch.events {
                guard stream.hasRoom else {
                    stream.miss(1)
                    continue
                }
                if let matcher, !matcher.matches(event, of: batch) { continue }
                stream.add { TapRecord.accepted(event, of: batch) }
            }
        }
        if journal.durableEnd > reader.position { stream.miss(try reader.skipToEnd()) }
    }

    private func collectPassed(into stream: inout TapStream, until end: Instant) throws(JournalError) {
        stream.miss(queue.takeMissed())
        // What there is no time for waits for the next round: on a busy machine, this thread may get no processor for
        // longer than a round takes. A sampled tap has no use for what is old.
        defer { if isSampled { stream.miss(queue.clear()) } }
        while clock.now() < end, !isSampled || stream.hasRoom, let item = queue.next() {
            switch item.content {
            case .routed(let run, let batch):
                var last: (event: Int, matches: Bool)?
                for decision in run.decisions {
                    let event = batch.events[decision.event]
                    if let matcher {
                        // The parts of a split event share one answer.
                        let matches =
                            last?.event == decision.event
                            ? last?.matches ?? false : matcher.matches(event, of: batch)
                        last = (decision.event, matches)
                        if !matches { continue }
                    }
                    let output = decision.verdict == .routed ? run.output[decision.output] : nil
                    stream.add { TapRecord.routed(event, of: batch, decision.verdict, output: output, item) }
                }
            case .sent(let batch, let settlement):
                for (index, event) in batch.events.enumerated() {
                    if let matcher {
                        guard let matches = try matcher.matches(at: event.position, in: journal) else {
                            stream.miss(1)
                            continue
                        }
                        if !matches { continue }
                    }
                    stream.add { TapRecord.sent(event, of: batch, settlement.outcome(of: index), item) }
                }
            case .deadLettered(let letters):
                for letter in letters {
                    if let matcher, !matcher.matches(letter) { continue }
                    stream.add { TapRecord.deadLettered(letter, item) }
                }
            }
        }
    }

    private func collectRefused(
        _ places: inout [String: SourceStatistics.RefusalPlace], into stream: inout TapStream
    ) {
        for (name, statistics) in status.sourceStatistics {
            // A source that came with a reload: nothing of it is known to the client.
            var place = places[name] ?? SourceStatistics.RefusalPlace()
            let (recent, others) = statistics.refusals(since: &place)
            places[name] = place
            stream.miss(others)
            for refusal in recent { stream.add { TapRecord.refused(refusal, by: name) } }
        }
    }
}

extension DeliveryClaim.Settlement {
    /// The outcome of one event, by its index in the batch.
    fileprivate func outcome(of index: Int) -> Outcome {
        switch self {
        case .all(let outcome): outcome
        case .each(let outcomes):
            index < outcomes.count
                ? outcomes[index] : .retry(reason: "the destination reported no outcome for the event")
        }
    }
}
