import Delivery
import Events
import Journal
import JournalAdapters
import Platform

/// A destination during one run of the daemon, with its deliveries in flight.
final class SimulatedDestination: Destination {
    /// A batch at the service. Its claim can be used once.
    private final class Offer {
        let events: [(position: UInt64, number: Int?)]
        /// Whether the batch belongs to a replay or retry, not to live delivery.
        let isAgain: Bool
        var claim: DeliveryClaim?
        init(_ events: [(position: UInt64, number: Int?)], isAgain: Bool, _ claim: consuming DeliveryClaim) {
            self.events = events
            self.isAgain = isAgain
            self.claim = consume claim
        }
    }

    let outside: Outside
    unowned let world: World
    private var offers: [Offer] = []
    private var random: Generator
    /// The last position that was offered for the first time, per user with `order: user`.
    private var lastFresh: [UInt64: UInt64] = [:]
    private var isOpen = false
    /// `order: user`: the events of each user arrive in order.
    private let isByUser: Bool

    init(_ outside: Outside, _ world: World, isByUser: Bool, _ random: Generator) {
        self.outside = outside
        self.world = world
        self.isByUser = isByUser
        outside.underWay.isByUser = isByUser
        self.random = random
    }

    var hasOffers: Bool { !offers.isEmpty }
    let limits = DestinationLimits()
    var settlesAtOnce: Bool { outside.settlesAtOnce }

    func open(from cursor: Cursor) throws -> UInt64? {
        if random.below(10) < outside.trouble { throw Trouble() }
        lastFresh = [:]
        outside.again = [:]
        isOpen = true
        return nil
    }

    func deliver(_ batch: OutboundBatch, _ claim: consuming DeliveryClaim) {
        guard !world.disk.isDead else { return }
        if !isOpen { world.trace.violated("\(outside.name) was offered a batch while it was closed") }
        var events: [(position: UInt64, number: Int?)] = []
        for event in batch.events {
            let json = batch.payload[event.payload]
            // A dead letter can hold an event that the journal has lost.
            let isLost =
                batch.livePosition != nil && world.ledger.number(of: json) != world.ledger[event.position].event
            guard
                let number = isLost
                    ? world.ledger.number(of: json) : world.verify(json, at: event.position, by: outside.name)
            else {
                if isLost { world.trace.violated("\(outside.name) was offered an event that no client sent") }
                continue
            }
            if let last = events.last, last.position >= event.position {
                world.trace.violated(
                    "\(outside.name) was offered position \(event.position) after \(last.position) in one batch")
            }
            if batch.livePosition == nil { checkFresh(event) }
            if !outside.wants(number) {
                world.trace.violated("\(outside.name) was offered event \(number), which is filtered")
            }
            events.append((event.position, isLost ? nil : number))
        }
        if let live = batch.livePosition, let last = events.last, last.position >= live {
            world.trace.violated(
                "a replay or retry offered \(outside.name) position \(last.position), above live delivery at \(live)")
        }
        world.trace.note(
            "offer", events.count, "\(outside.name) from \(events.first?.position ?? 0), \(batch.livePosition ?? 0)")
        world.count(batch.livePosition == nil ? .offers : .offersAgain)
        if let repeated = outside.underWay.offered(events.map(\.position), isAgain: batch.livePosition != nil, outside),
            !world.mayForget
        {
            world.trace.violated(
                "\(outside.name) was offered position \(repeated) again, which was not in flight at any crash")
        }
        let offer = Offer(events, isAgain: batch.livePosition != nil, claim)
        offers.append(offer)
        if offers.count > outside.inFlight {
            world.trace.violated(
                "\(outside.name) has \(offers.count) batches in flight, above its limit \(outside.inFlight)")
        }
        if random.oneIn(2) { settle() }
    }

    private func checkFresh(_ event: OutboundEvent) {
        if isByUser {
            if let first = outside.again[event.user]?.min(), first < event.position {
                world.trace.violated(
                    "\(outside.name) was offered position \(event.position) before \(first) of the same user")
            }
            outside.again[event.user]?.remove(event.position)
        }
        guard event.attempt == 0 else { return }
        let user = isByUser ? event.user : 0
        if let last = lastFresh[user], last >= event.position {
            world.trace.violated(
                "\(outside.name) was offered position \(event.position) for the first time after \(last)")
        }
        lastFresh[user] = event.position
    }

    /// Settles a random offer.
    func settle() {
        guard !offers.isEmpty else { return }
        let offer = offers.remove(at: random.below(offers.count))
        let settlement = outcome(of: offer)
        if isByUser, !offer.isAgain { noteAgain(offer, settlement) }
        offer.claim.take()?.settle(settlement)
    }

    private func noteAgain(_ offer: Offer, _ settlement: DeliveryClaim.Settlement) {
        for (index, event) in offer.events.enumerated() {
            var outcome = Outcome.delivered
            switch settlement {
            case .all(let one): outcome = one
            case .each(let each): outcome = each[index]
            }
            switch outcome {
            case .retry, .hold:
                if let number = event.number { outside.again[UInt64(number % 5), default: []].insert(event.position) }
            // A single event that is too large is rejected.
            case .delivered, .rejected, .tooLarge, .someRejected: break
            }
        }
    }

    private func outcome(of offer: Offer) -> DeliveryClaim.Settlement {
        let events = offer.events
        if random.below(10) < outside.trouble {
            return .all(
                random.pick([
                    .retry(reason: "down"), .retry(reason: "slow down", after: .seconds(3)), .hold(reason: "no"),
                ]))
        }
        if events.count > 4, random.oneIn(15) { return .all(.tooLarge(reason: "too much")) }
        if events.count > 4, random.oneIn(15) { return .all(.someRejected(reason: "one of these")) }
        let isPartial = outside.trouble > 0 && random.oneIn(4)
        var outcomes: [Outcome] = []
        for (position, number) in events {
            if let number, outside.isPoison(number) {
                outside.underWay.settled(position)
                outcomes.append(.rejected(reason: "poison", answer: "400"))
            } else if isPartial, random.oneIn(3) {
                outcomes.append(.retry(reason: "this one not"))
            } else {
                outside.underWay.settled(position)
                if number != nil { outside.take(position, offer.isAgain ? world.replay(to: outside) : nil) }
                outcomes.append(.delivered)
            }
        }
        return outcomes.allSatisfy { $0 == .delivered } ? .all(.delivered) : .each(outcomes)
    }

    func checkpoint() throws -> [UInt8]? {
        if random.below(40) < outside.trouble { throw Trouble() }
        outside.checkpoint()
        return state
    }

    private var state: [UInt8]? {
        outside.stateSize == 0 ? nil : [UInt8](repeating: random.pick([1, 2, 3]), count: outside.stateSize)
    }

    var checkpointsLate: Bool { outside.checkpointsLate }

    func checkpoint(settled position: UInt64) throws -> Cursor? {
        guard checkpointsLate else { return Cursor(position: position, state: try checkpoint() ?? []) }
        if random.below(40) < outside.trouble { throw Trouble() }
        return outside.lateCheckpoint(position).map { Cursor(position: $0, state: state ?? []) }
    }

    func close() {
        isOpen = false
        offers = []
        outside.crash()
    }
}

struct Trouble: Error {}

/// Routes by an event's number. Some events are filtered, some cannot be rendered.
final class SimulatedRouter: EventRouter {
    private let outside: Outside
    private unowned let world: World
    /// Whether its events are dead letters. The journal may have lost some of them.
    private let isOfLetters: Bool

    init(_ outside: Outside, _ world: World, isOfLetters: Bool = false) {
        self.outside = outside
        self.world = world
        self.isOfLetters = isOfLetters
    }

    var selection: (any EventSelection)? {
        outside.leavesOut && !isOfLetters ? SimulatedSelection(outside, world) : nil
    }

    func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch) -> RouteVerdict {
        let json = batch.text(of: event)[...]
        let isLost = isOfLetters && world.ledger.number(of: json) != world.ledger[event.position].event
        guard
            let number = isLost
                ? world.ledger.number(of: json) : world.verify(json, at: event.position, by: outside.name)
        else { return .filtered(reason: "unknown") }
        if outside.refusesOnTheWay(number) { return .rejected(reason: "cannot be rendered") }
        guard outside.wants(number) else {
            if !world.disk.isDead, isOfLetters || outside[event.position] == .none {
                outside[event.position] = .filtered
            }
            return .filtered(reason: "no route")
        }
        let start = output.payload.count
        output.payload.append(contentsOf: json)
        output.payload.append(10)
        output.events.append(
            OutboundEvent(
                position: event.position, receivedAt: event.receivedAt, kind: event.index.kind,
                payload: start..<start + json.count, messageID: start..<start))
        output.events[output.events.count - 1].user = UInt64(number % 5)
        return .routed
    }
}

/// Leaves out what a destination does not want.
// Unchecked: the simulation has one thread.
final class SimulatedSelection: EventSelection, @unchecked Sendable {
    let reason = "no route"
    private let outside: Outside
    private unowned let world: World

    init(_ outside: Outside, _ world: World) {
        self.outside = outside
        self.world = world
    }

    func mayTake(_ index: EventIndex, _ json: Span<UInt8>) -> Bool {
        // After these faults, only the router knows whether the event belongs to its position.
        guard !world.faults.mayHaveMovedSectors else { return true }
        let text = unsafe json.withUnsafeBufferPointer { unsafe Array($0) }
        return world.ledger.number(of: text).map { outside.wants($0) } ?? true
    }
}

/// Stores dead letters and records them in the ledger.
final class SimulatedDeadLetters: DeadLetterSink {
    private let outside: Outside
    private unowned let world: World
    let file: DeadLetterFile

    init(_ outside: Outside, _ world: World, _ file: DeadLetterFile) {
        self.outside = outside
        self.world = world
        self.file = file
    }

    func append(_ letters: [DeadLetter]) throws {
        try file.append(letters)
        guard !world.disk.isDead else { return }
        world.count(.deadLetters, letters.count)
        // A dead letter is not retried by live delivery.
        for letter in letters { for user in outside.again.keys { outside.again[user]?.remove(letter.position) } }
        for letter in letters {
            // A retried dead letter can hold an event that the journal has lost.
            guard world.ledger.number(of: letter.event) == world.ledger[letter.position].event,
                world.verify(letter.event[...], at: letter.position, by: "\(outside.name)'s dead letters") != nil
            else { continue }
            outside[letter.position] = .deadLettered
            world.replay(to: outside)?.brought.insert(letter.position)
        }
    }

    func nextRetry() throws -> DeadLetterRetry? { try file.nextRetry() }

    /// A letter may leave the store only when its event is durable elsewhere.
    func finish(_ retry: DeadLetterRetry) throws {
        try file.finish(retry)
        guard !world.disk.isDead else { return }
        world.count(.retried, retry.numbers.count)
        for letter in retry.letters where !outside.isDurable(letter.position) {
            world.trace.violated(
                "the dead letter of \(outside.name) at \(letter.position) was removed before its delivery was durable")
        }
        world.check(file.store, outside)
    }
}
