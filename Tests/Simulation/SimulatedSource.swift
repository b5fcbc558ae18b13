import Events
import Ingest
import Journal

/// A broker with lanes of messages, and the source that reads them into the journal. A message that the source has
/// acknowledged is gone from the broker, as in a work queue: after that, only the journal has it.
final class SimulatedSource {
    private enum Message {
        case event(Int)
        /// A message that is no event: the source moves on without it.
        case nonsense
    }

    private struct Lane {
        let name: String
        /// All messages ever, by offset.
        var messages: [Message] = []
        /// Messages below this offset were acknowledged.
        var acknowledged = 0
        /// The offset of the next message to offer.
        var next = 0
        /// The highest offset that was ever appended with events before it.
        var appended = 0
        /// Messages that the journal has, and that come again, because an earlier one was missing at a start.
        var again: Set<Int> = []
    }

    private struct Offer {
        var lane: Int
        var next: Int
        var end: UInt64
    }

    private static let name = "broker"
    private unowned let world: World
    private var random: Generator
    private var lanes: [Lane]
    /// Appended and not acknowledged to the broker.
    private var offers: [Offer] = []
    private let scanner = EventScanner(maximumEventSize: 32 << 10, maximumDepth: 16)
    /// Whether acknowledged has always meant durable, and nothing but crashes has happened to the files.
    private var isStrict = true

    /// The worlds that have a source.
    static func isIn(_ seed: UInt64) -> Bool { seed % 16 == 10 || seed % 16 == 14 }

    init(_ world: World, _ random: Generator) {
        self.world = world
        self.random = random
        lanes = (0..<3).map { Lane(name: "lane \($0)") }
        // More than one lane, but not in every world.
        lanes.removeLast(self.random.below(3))
    }

    /// Whether this step is the source's.
    var isDue: Bool { random.percent(35) }

    var isDone: Bool { lanes.allSatisfy { $0.acknowledged == $0.messages.count } }

    /// One action of the broker or the source.
    func act() {
        guard let journal = world.journal else { return }
        noteOptions()
        world.trace.note("source")
        if random.percent(60) { addMessages() }
        if random.percent(80) { offer(to: journal) }
        if random.percent(40) { hear(journal) }
    }

    /// Offers and acknowledges everything.
    func drain() {
        guard let journal = world.journal else { return }
        while offer(to: journal) {}
        hear(journal)
    }

    private func addMessages() {
        let lane = random.below(lanes.count)
        for _ in 0..<random.pick([1, 1, 2, 5]) {
            let size = random.pick([90, 200, 400, 1500, 3000])
            let isEvent = !random.oneIn(10)
            lanes[lane].messages.append(isEvent ? .event(world.ledger.make(size: size)) : .nonsense)
            if isEvent { world.count(.events) }
        }
    }

    /// Offers some messages of a lane.
    /// - Returns: whether the journal took them.
    @discardableResult
    private func offer(to journal: Journal) -> Bool {
        let waiting = lanes.indices.filter { lanes[$0].next < lanes[$0].messages.count }
        guard !waiting.isEmpty, !world.disk.isDead else { return false }
        let lane = random.pick(waiting)
        let first = lanes[lane].next
        let next = min(first + random.within(1...4), lanes[lane].messages.count)
        var bytes: [UInt8] = []
        for index in first..<next {
            guard case .event(var event) = lanes[lane].messages[index] else { continue }
            if world.ledger.position(of: event) != nil {
                // The journal has this message, but not the one before it, so it comes again.
                event = world.ledger.make(size: 200)
                lanes[lane].messages[index] = .event(event)
                lanes[lane].again.remove(index)
            }
            bytes += world.ledger.events[event] + [10]
        }
        var events: [ScannedEvent] = []
        var refused: [ScannedRefusal] = []
        _ = scanner.scan(bytes.span, accepted: &events, refused: &refused)
        let outcome = SimulatedAppender(world).append(
            bytes.span, events: events.span, from: Origin(source: Self.name, uid: 0, gid: 0, pid: 7),
            lane: LanePosition(lane: lanes[lane].name, position: Array("\(next)".utf8)))
        guard case .queued(let end) = outcome else { return false }
        world.trace.note("append", next, "\(lanes[lane].name) from \(first), \(events.count) events, end \(end)")
        lanes[lane].next = next
        lanes[lane].appended = max(lanes[lane].appended, next)
        offers.append(Offer(lane: lane, next: next, end: end))
        return true
    }

    /// Acknowledges to the broker what the journal acknowledges.
    private func hear(_ journal: Journal) {
        guard !world.disk.isDead else { return }
        world.notePublished()
        while let offer = offers.first, offer.end <= journal.acknowledgedEnd {
            offers.removeFirst()
            acknowledge(offer.lane, upTo: offer.next)
        }
    }

    private func acknowledge(_ lane: Int, upTo next: Int) {
        guard next > lanes[lane].acknowledged else { return }
        for message in lanes[lane].messages[lanes[lane].acknowledged..<next] {
            // Without a sync, a power cut may have taken the event, and left the lane's later position.
            guard case .event(let event) = message, isStrict || world.ledger.position(of: event) != nil else {
                continue
            }
            world.acknowledged(event)
        }
        lanes[lane].acknowledged = next
    }

    private func noteOptions() {
        let isUntouched = world.damagedInodes.isEmpty && world.faults.counts[Faults.Kind.evictedPage.rawValue] == 0
        if world.options.sync != .always || !isUntouched { isStrict = false }
    }

    /// Starts to read again, at the positions that the journal holds.
    func restart(_ journal: Journal) {
        noteOptions()
        offers = []
        let stored = Dictionary(
            journal.lanes(of: Self.name).map { ($0.lane, String(decoding: $0.position, as: UTF8.self)) },
            uniquingKeysWith: { first, _ in first })
        for lane in lanes.indices {
            let position = stored[lanes[lane].name].map { Int($0) ?? -1 } ?? 0
            world.trace.note("lane", position, lanes[lane].name)
            check(lanes[lane], position)
            // The journal has everything below its position. What was acknowledged is gone from the broker.
            if world.trace.violation == nil { acknowledge(lane, upTo: position) }
            lanes[lane].next = max(position, lanes[lane].acknowledged)
            let rest = lanes[lane].next..<lanes[lane].messages.count
            lanes[lane].again = Set(rest.filter { isStored(lanes[lane].messages[$0]) })
        }
    }

    private func isStored(_ message: Message) -> Bool {
        if case .event(let event) = message { world.ledger.position(of: event) != nil } else { true }
    }

    private func check(_ lane: Lane, _ position: Int) {
        guard (0...lane.appended).contains(position) else {
            return world.trace.violated(
                "\(lane.name) is at \(position), and was appended up to \(lane.appended)")
        }
        guard isStrict else { return }
        let isThere = lane.messages.map(isStored)
        if let lost = isThere[..<position].firstIndex(of: false) {
            world.trace.violated("\(lane.name) is at \(position), and message \(lost) is not in the journal")
        }
        if position < lane.acknowledged {
            let events = lane.messages[position..<lane.acknowledged].contains {
                if case .event = $0 { true } else { false }
            }
            if events {
                world.trace.violated("\(lane.name) is at \(position), and was acknowledged up to \(lane.acknowledged)")
            }
        }
        // Whatever the journal has up to the first message that it lacks must not come again.
        let first = isThere.firstIndex(of: false) ?? isThere.count
        let again = (position..<max(first, position)).contains { index in
            if case .event = lane.messages[index] { !lane.again.contains(index) } else { false }
        }
        if again { world.trace.violated("\(lane.name) is at \(position), and the journal has it up to \(first)") }
    }
}
