import Events
import Ingest
import Platform
import Synchronization
import Telemetry

@testable import PluginHosting
@testable import PluginSources

/// The daemon's side of a source: offers that pass the window, are appended and are reported as stored.
///
/// Each event of an offer that was taken is stored or refused, with the offer's position, or left out because its lane
/// has brought it in before. The offer is reported once, in order. An offer beyond the window, or before the plugin may
/// offer, is never taken.
final class SourceSide {
    /// Time stands still, so that a script has the same effects however long it takes.
    private struct StoppedClock: Clock {
        func now() -> Instant { Instant(nanoseconds: 1000) }
        func wallClock() -> Int64 { 1_000_000 }
    }

    /// Small, so that inputs reach them.
    private static let window = 2000
    private static let offerBytes = 600
    private static let limits = SourceLimits(
        maximumEventSize: 256, maximumDepth: 8, maximumConnections: 1, maximumUnreadAnswers: 1)
    private nonisolated(unsafe) static let scanner = EventScanner(
        maximumEventSize: limits.maximumEventSize, maximumDepth: limits.maximumDepth)

    private static let clock = StoppedClock()

    private let journal: FrameJournal
    private let statistics = SourceStatistics()
    private let board = SourceBoard(readyLag: .seconds(60))
    private let admission: OfferAdmission
    private var stored = StoredOffers()
    /// It has been scanned, and not been appended.
    private var scanned: ReceivedOffer?

    /// The model: offers that are taken and not appended, and those that are appended and not reported.
    private var taken: [ModelledOffer] = []
    private var appended: [(offer: ModelledOffer, refused: [RefusedEvent])] = []
    private var used = 0
    private var mayOffer = false
    private var hasFailed = false
    private var lanes: Set<[UInt8]> = []
    /// Until when a lane belongs to this host.
    private var deadlines: [[UInt8]: Int64] = [:]
    /// How far each lane has brought in each origin: what was appended in this run.
    private var marks: [[UInt8]: [OriginID: OriginPlace]] = [:]
    /// The events of all offers that were appended.
    private var counts = (stored: 0, refused: 0, repeated: 0)
    private var lags: [[UInt8]: Duration] = [:]
    private var words: [String] = []

    init() {
        let journal = FrameJournal()
        self.journal = journal
        admission = OfferAdmission(
            source: "queue",
            admission: EventAdmission(
                limits: Self.limits, appender: journal, statistics: statistics, clock: Self.clock),
            statistics: statistics, marks: OriginMarks { lane, origin in journal.mark(of: lane, origin) },
            clock: Self.clock)
    }

    func run(_ script: FrameScript, pieces: Int) -> [String] {
        let side = PluginSide(.source, pieces: pieces)
        let receiver = SourceReceiver(
            PluginReporting(
                owner: "queue", as: .source, telemetry: side.telemetry, minimum: .debug, passesOutput: false),
            window: UInt64(Self.window), offerBytes: Self.offerBytes, board: board, bell: Doorbell())
        side.connect(receiver)
        for step in script.steps {
            switch step {
            case .send(let bytes): side.send(bytes, takes)
            case .print(let bytes): side.print(bytes, receiver)
            case .request(let isLoad): side.request(isLoad: isLoad)
            case .act(let bytes): act(bytes, receiver)
            }
        }
        receiver.processEnded()
        let log = side.finish(receiver)
        drain(receiver)
        checkStatus(receiver)
        return log + words
    }

    // MARK: What the process does

    private func takes(_ message: ChannelModel.Message) -> Bool {
        switch message.type {
        case 38:
            guard let offer = ModelledOffer(message, maximumBytes: Self.offerBytes), mayOffer,
                used == 0 || used + offer.cost <= Self.window
            else { return false }
            used += offer.cost
            taken.append(offer)
            lanes.insert(offer.lane)
        case 39, 40:
            guard isLane(message.body) else { return false }
            if message.type == 39 { lanes.insert(message.body) } else { lanes.remove(message.body) }
        case 42: hasFailed = true
        case 43:
            guard isLane(message.body), deadlines[message.body] != nil || deadlines.count < 10_000 else { return false }
            deadlines[message.body] = Int64(bitPattern: message.token)
        default: break
        }
        return true
    }

    // MARK: What the daemon does

    private func act(_ bytes: [UInt8], _ receiver: SourceReceiver) {
        switch bytes.first ?? 0 {
        case 0:
            mayOffer = true
            receiver.permitOffers(true)
        case 1:
            mayOffer = false
            receiver.permitOffers(false)
        case 2: append(receiver)
        case 3:
            journal.commit()
            report(receiver)
        case 4: journal.become(.isBusy)
        case 5: journal.become(.isFull)
        case 6: journal.become(.refusesEvents)
        default: journal.become(.takes)
        }
    }

    /// Appends the next offer, as SourceWorker does. It would end the process if a lane may belong to another host.
    private func append(_ receiver: SourceReceiver) {
        if scanned == nil {
            scanned = receiver.takeOffer()
            require((scanned == nil) == taken.isEmpty, "\(taken.count) offers should wait")
            guard let scanned else { return }
            admission.scan(scanned)
        }
        guard let offer = scanned else { return }
        let now = Self.clock.now()
        let hasExpired = deadlines[taken[0].lane].map { $0 < now.nanoseconds } ?? false
        require(receiver.hasExpired(offer.lane.lane, now: now) == hasExpired, "expired should be \(hasExpired)")
        if let age = admission.age {
            board.note(age: age, of: offer.lane.lane, at: now)
            lags[taken[0].lane] = min(lags[taken[0].lane] ?? age, age)
        }
        guard case .queued(let end) = admission.append(from: 1) else { return }
        scanned = nil
        let expected = taken.removeFirst()
        let refusals = admission.refusals()
        check(offer, expected, refusals)
        admission.forget()
        appended.append((expected, refusals))
        stored.append(
            AppendedOffer(token: offer.token, cost: offer.cost, lane: offer.lane, refusals: refusals, end: end))
    }

    private func check(_ offer: ReceivedOffer, _ expected: ModelledOffer, _ refusals: [RefusedEvent]) {
        require(offer.token == expected.token && offer.cost == expected.cost, "\(offer) instead of \(expected)")
        let (events, lane, isRefusing) = journal.state.withLock { ($0.events, $0.lane, $0.mood == .refusesEvents) }
        require(
            lane.map { Array($0.lane.utf8) } == expected.lane && lane?.position == expected.position,
            "an offer is stored with \(String(describing: lane))")
        let refused = refusals.map(\.index)
        require(refused == Set(refused).sorted(), "refused: \(refused)")
        require(refusals.allSatisfy { !$0.reason.isEmpty && $0.reason.utf8.count <= 1024 }, "\(refusals)")
        let mark = expected.origin.flatMap { marks[expected.lane]?[$0] }
        let new = expected.newEvents(above: mark)
        let kept = new.filter { !refused.contains($0) }
        require(events.count == kept.count, "\(events.count) events are stored, and not \(kept.count)")
        for (index, event) in zip(kept, events) {
            require(event.json == Self.line(expected.events[index]), "another event is stored at \(index)")
        }
        let fresh = Set(new)
        for (index, event) in expected.events.enumerated() {
            let isRefused = refused.contains(index)
            let isWrong = fresh.contains(index) && (isRefusing || !Self.isValid(event))
            require(isRefused == isWrong, "event \(index): refused is \(isRefused)")
        }
        checkMark(lane?.mark, expected, above: mark)
        checkReceipt(lane?.receipt, expected, zip(kept, events).map { (index: $0, line: $1.line) })
        counts.stored += kept.count
        counts.refused += refused.count
        counts.repeated += expected.events.count - new.count
        for event in refusals { words.append("\(offer.token) \(event.index) \(event.reason)") }
    }

    /// - Parameter mark: before the offer.
    private func checkMark(_ stored: OriginMark?, _ expected: ModelledOffer, above mark: OriginPlace?) {
        let new = expected.mark(above: mark)
        require(stored == new, "the mark \(String(describing: stored)) is stored")
        if let new { marks[expected.lane, default: [:]][new.origin] = new.place }
    }

    /// - Parameter events: those that are stored: the index in the offer, and the line that the journal was told.
    private func checkReceipt(
        _ receipt: EarlierReceipt?, _ expected: ModelledOffer, _ events: [(index: Int, line: Int)]
    ) {
        let newest = receipt?.times.max()
        require(admission.age == newest.map(Self.age), "the age is \(String(describing: admission.age))")
        guard let receipt else {
            return require(expected.host.isEmpty && expected.times.isEmpty, "an earlier receipt is lost")
        }
        require(!expected.host.isEmpty || !expected.times.isEmpty, "\(receipt) is stored")
        require(Array(receipt.host.utf8) == expected.host, "another host is stored: \(receipt.host)")
        require(receipt.times.count <= expected.times.count, "\(receipt.times.count) times are stored")
        guard !expected.times.isEmpty else { return }
        for (index, line) in events {
            require(
                line < receipt.times.count && receipt.times[line] == expected.times[index],
                "another time is stored for the event at \(index)")
        }
    }

    /// How long ago this time was. Not negative, and not more than 64 bits hold.
    private static func age(_ time: Int64) -> Duration {
        let (age, isTooLong) = clock.wallClock().subtractingReportingOverflow(time)
        let nanoseconds: Int64 = isTooLong ? .max : max(0, age)
        return .nanoseconds(nanoseconds)
    }

    /// An event as it is stored: without line feeds between its tokens, and without white space around it.
    private static func line(_ event: [UInt8]) -> [UInt8] {
        let isSpace = { (byte: UInt8) in [9, 10, 13, 32].contains(byte) }
        let end = event.lastIndex { !isSpace($0) }.map { $0 + 1 } ?? 0
        return event[..<end].drop(while: isSpace).map { $0 == 10 ? 32 : $0 }
    }

    /// Whether it is an event with the limits of this source. A line feed in a string is no JSON (RFC 8259, 7).
    private static func isValid(_ event: [UInt8]) -> Bool {
        var (accepted, refused) = ([ScannedEvent](), [RefusedLine]())
        // A carriage return is as invalid in a string as a line feed, and as valid between tokens.
        let line = event.map { $0 == 10 ? 13 : $0 } + [10]
        _ = unsafe scanner.scan(line.span, accepted: &accepted, refused: &refused)
        return accepted.count == 1 && refused.isEmpty
    }

    // MARK: What is reported

    private func report(_ receiver: SourceReceiver) {
        let offers = stored.take(durableEnd: journal.durableEnd)
        let message = StoredOffers.message(offers)
        receiver.release(offers.reduce(0) { $0 + $1.cost })
        board.store(offers.map(\.lane))
        var rest = message[...]
        for _ in offers {
            let (offer, refused) = appended.removeFirst()
            used -= offer.cost
            checkReport(&rest, offer, refused)
        }
        require(rest.isEmpty, "\(rest.count) bytes behind the stored offers")
    }

    /// Reads one offer of PLUGIN_STORED as the plugin's process does.
    private func checkReport(_ rest: inout ArraySlice<UInt8>, _ offer: ModelledOffer, _ refused: [RefusedEvent]) {
        func take(_ count: Int) -> [UInt8] {
            require(rest.count >= count, "a report is cut off")
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        let head = take(32)
        let numbers = stride(from: 0, to: 32, by: 4).map { Int(ChannelModel.number(head, $0)) }
        require(UInt64(numbers[0]) | UInt64(numbers[1]) << 32 == offer.token, "offers are reported out of order")
        require(numbers[2] == offer.cost && numbers[3] == 0, "\(numbers[2]) instead of \(offer.cost)")
        require(numbers[4] == refused.count && numbers[5] == offer.lane.count, "\(numbers)")
        require(numbers[6] == offer.position.count, "\(numbers)")
        let heads = (0..<refused.count).map { _ in take(8) }
        require(take(offer.lane.count) == offer.lane && take(offer.position.count) == offer.position, "another lane")
        let reasons = take(numbers[7])
        var place = 0
        for (head, event) in zip(heads, refused) {
            require(Int(ChannelModel.number(head, 0)) == event.index, "another event is refused")
            let end = place + Int(ChannelModel.number(head, 4))
            require(Array(reasons[place..<end]) == Array(event.reason.utf8), "another reason is reported")
            place = end
        }
        require(place == reasons.count, "\(reasons.count - place) bytes behind the reasons")
    }

    /// The process has ended. What it offered before can still be stored.
    private func drain(_ receiver: SourceReceiver) {
        journal.become(.takes)
        while !taken.isEmpty { append(receiver) }
        require(receiver.takeOffer() == nil, "an offer is taken that was not made")
        journal.commit()
        while !stored.isEmpty { report(receiver) }
        require(appended.isEmpty && used == 0, "\(appended.count) offers are not reported")
        let counted = statistics.snapshot()
        require(
            counted.accepted == counts.stored && counted.refused == counts.refused
                && counted.duplicates == counts.repeated,
            "\(counts) are counted as \(counted)")
    }

    /// What an operator sees.
    private func checkStatus(_ receiver: SourceReceiver) {
        let status = board.status(nil, at: Self.clock.now())
        require(status.openLanes == lanes.count, "\(status.openLanes) partitions are open, not \(lanes.count)")
        require(status.lag == lags.values.max(), "the lag is \(String(describing: status.lag))")
        require((receiver.failure != nil) == hasFailed, "the plugin's end is \(receiver.failure ?? "not") noted")
        for text in [receiver.failure, status.problem].compactMap({ $0 }) { PluginSide.requirePrintable(text, 1024) }
        for lane in status.lanes {
            PluginSide.requirePrintable(lane.name, LanePosition.limit)
            PluginSide.requirePrintable(lane.position ?? "", 2 * LanePosition.limit)
        }
        words +=
            status.lanes.flatMap { [$0.name, $0.position ?? "none"] } + [status.problem ?? "", receiver.failure ?? ""]
    }
}
