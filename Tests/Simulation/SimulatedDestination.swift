import Delivery
import Events
import Journal
import Platform
import Seams

/// One destination across all its lives: what the service outside has taken, which is what counts.
final class Outside {
    enum Fate: UInt8 {
        case none, taken, filtered, deadLettered, dropped
    }

    let name: String
    /// What it took is durable with its checkpoint only, as a file's; otherwise at once.
    let isBuffered: Bool
    let inFlight: Int
    /// How much state it keeps with its cursor.
    let stateSize: Int
    /// Of ten attempts, how many fail; 10: it is down.
    var trouble = 0
    private(set) var fates: [Fate] = []
    private var buffered: [UInt64] = []
    /// The lowest position that is its business; nil: never declared.
    var start: UInt64?
    /// Up to here its cursor was seen to be right.
    var checked: UInt64 = 0
    /// What a commit has made durable.
    var committed: UInt64 = 0
    /// It was out of the configuration, so that retention did not wait for it.
    var wasAway = false

    init(name: String, _ random: inout Generator) {
        self.name = name
        isBuffered = random.percent(40)
        inFlight = random.pick([1, 1, 2, 4])
        stateSize = random.pick([0, 10, 700, 2000])
    }

    subscript(position: UInt64) -> Fate {
        get { position < UInt64(fates.count) ? fates[Int(position)] : .none }
        set {
            guard position < Ledger.limit else { return }
            while UInt64(fates.count) <= position { fates.append(.none) }
            fates[Int(position)] = newValue
        }
    }

    func take(_ position: UInt64) {
        if isBuffered { buffered.append(position) }
        self[position] = .taken
    }

    func checkpoint() { buffered = [] }

    /// What it had not made durable is gone.
    func crash() {
        for position in buffered { self[position] = .none }
        buffered = []
    }

    /// Whether the router wants it there, by the event's number.
    func wants(_ event: Int) -> Bool { (event &+ name.utf8.count) % 5 != 0 }
    /// Whether the router, or the service, never takes it.
    func refusesOnTheWay(_ event: Int) -> Bool { event % 41 == 7 }
    func isPoison(_ event: Int) -> Bool { event % 29 == 3 }
}

/// A destination of one life, with whatever it has in hand.
final class SimulatedDestination: Destination {
    /// A batch in the service's hands; the claim can be used once.
    private final class Offer {
        let events: [(position: UInt64, number: Int)]
        var claim: DeliveryClaim?
        init(_ events: [(position: UInt64, number: Int)], _ claim: consuming DeliveryClaim) {
            self.events = events
            self.claim = consume claim
        }
    }

    let outside: Outside
    unowned let world: World
    private var offers: [Offer] = []
    private var random: Generator
    private var lastFresh: UInt64?
    private var isOpen = false

    init(_ outside: Outside, _ world: World, _ random: Generator) {
        self.outside = outside
        self.world = world
        self.random = random
    }

    var hasOffers: Bool { !offers.isEmpty }
    let limits = DestinationLimits()

    func open(from cursor: Cursor) throws -> UInt64? {
        if random.below(10) < outside.trouble { throw Trouble() }
        lastFresh = nil
        isOpen = true
        return nil
    }

    func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
        guard !world.disk.isDead else { return }
        if !isOpen { world.trace.violated("\(outside.name) was offered a batch while closed") }
        var events: [(position: UInt64, number: Int)] = []
        for event in batch.events {
            guard let number = world.verify(batch.payload[event.payload], at: event.position, by: outside.name) else { continue }
            if let last = events.last, last.position >= event.position {
                world.trace.violated("\(outside.name) was offered position \(event.position) behind \(last.position)")
            }
            if event.attempt == 0 {
                if let lastFresh, lastFresh >= event.position {
                    world.trace.violated("\(outside.name) was offered position \(event.position) anew after \(lastFresh)")
                }
                lastFresh = event.position
            }
            if !outside.wants(number) { world.trace.violated("\(outside.name) was offered event \(number), which is filtered") }
            events.append((event.position, number))
        }
        world.trace.note("offer", events.count, "\(outside.name) from \(events.first?.position ?? 0)")
        let offer = Offer(events, claim)
        offers.append(offer)
        if random.oneIn(2) { settle() }
    }

    /// Says what became of an offer.
    func settle() {
        guard !offers.isEmpty else { return }
        let offer = offers.remove(at: random.below(offers.count))
        let settlement = outcome(of: offer.events)
        offer.claim.take()?.settle(settlement)
    }

    private func outcome(of events: [(position: UInt64, number: Int)]) -> DeliveryClaim.Settlement {
        if random.below(10) < outside.trouble {
            return .all(random.pick([.retry(reason: "down"), .retry(reason: "slow down", after: .seconds(3)), .hold(reason: "no")]))
        }
        if events.count > 4, random.oneIn(15) { return .all(.tooLarge(reason: "too much")) }
        let isPartial = outside.trouble > 0 && random.oneIn(4)
        var outcomes: [Outcome] = []
        for (position, number) in events {
            if outside.isPoison(number) {
                outcomes.append(.rejected(reason: "poison", answer: "400"))
            } else if isPartial, random.oneIn(3) {
                outcomes.append(.retry(reason: "this one not"))
            } else {
                outside.take(position)
                outcomes.append(.delivered)
            }
        }
        return outcomes.allSatisfy { $0 == .delivered } ? .all(.delivered) : .each(outcomes)
    }

    func checkpoint() throws -> [UInt8]? {
        if random.below(40) < outside.trouble { throw Trouble() }
        outside.checkpoint()
        return outside.stateSize == 0 ? nil : [UInt8](repeating: random.pick([1, 2, 3]), count: outside.stateSize)
    }

    func close() {
        isOpen = false
        offers = []
        outside.crash()
    }
}

struct Trouble: Error {}

/// Routes by an event's number: some are nobody's business, some cannot be rendered.
final class SimulatedRouter: EventRouter {
    private let outside: Outside
    private unowned let world: World

    init(_ outside: Outside, _ world: World) {
        self.outside = outside
        self.world = world
    }

    func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch) -> RouteVerdict {
        let json = batch.bytes[event.range]
        guard let number = world.verify(json, at: event.position, by: outside.name) else { return .filtered(reason: "unknown") }
        if outside.refusesOnTheWay(number) { return .rejected(reason: "cannot be rendered") }
        guard outside.wants(number) else {
            if !world.disk.isDead { outside[event.position] = .filtered }
            return .filtered(reason: "no route")
        }
        let start = output.payload.count
        output.payload.append(contentsOf: json)
        output.payload.append(10)
        output.events.append(
            OutboundEvent(
                position: event.position, receivedAt: event.receivedAt, kind: event.index.kind,
                payload: start..<start + json.count, messageID: start..<start))
        return .routed
    }
}

/// The store of dead letters, and the ledger.
final class SimulatedDeadLetters: DeadLetterSink {
    private let outside: Outside
    private unowned let world: World
    let file: DeadLetterFile

    init(_ outside: Outside, _ world: World, _ file: DeadLetterFile) {
        self.outside = outside
        self.world = world
        self.file = file
    }

    func append(_ letters: [Delivery.DeadLetter]) throws {
        try file.append(letters)
        guard !world.disk.isDead else { return }
        world.count(.deadLetters, letters.count)
        for letter in letters {
            guard world.verify(letter.event[...], at: letter.position, by: "\(outside.name)'s dead letters") != nil else { continue }
            outside[letter.position] = .deadLettered
        }
    }
}
