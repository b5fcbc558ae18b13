import Events
import FleetFormat
import PluginSources

/// An aggregator: a source plugin with lanes, and a host with a journal. What is not durable is lost in a crash, each
/// offer as a whole: its events, the lane's position and its mark.
final class FleetAggregator {
    /// One offer in the journal.
    private struct Stored {
        var lane: Int
        var events: [FleetSimulatedEvent]
        var position: UInt64
        var mark: OriginMark?
        /// More parts of the same message follow.
        var isPart: Bool
    }

    private struct Lane {
        var term: LeaseTerm?
        var progress = LaneProgress()
        /// Parts of the message that is being offered, and its sequence.
        var parts: [[FleetSimulatedEvent]] = []
        var sequence: UInt64 = 0
        /// The lane is let go as soon as everything is stored.
        var isEnding = false
    }

    /// An offer that the host has, and has not appended.
    private struct Offer {
        var lane: Int
        var events: [FleetSimulatedEvent]
        var position: UInt64
        var isPart: Bool
        var until: ContinuousClock.Instant
    }

    let number: Int
    private let partitions: Int
    private var appended: [Stored] = []
    private var durable = 0
    /// The lanes' positions and marks that are durable.
    private var positions: [Int: UInt64] = [:]
    private let marks = Marks()
    private var appendedMarks: OriginMarks
    private var lanes: [Lane]
    private var offers: [Offer] = []
    var frozenUntil: ContinuousClock.Instant?

    /// The durable marks, which OriginMarks asks for.
    private final class Marks {
        var places: [String: [OriginID: OriginPlace]] = [:]
    }

    init(_ number: Int, partitions: Int) {
        self.number = number
        self.partitions = partitions
        lanes = Array(repeating: Lane(), count: partitions)
        appendedMarks = OriginMarks { [marks] lane, origin in marks.places[lane]?[origin] }
    }

    /// All events, in their order.
    var journal: [FleetSimulatedEvent] { appended.flatMap(\.events) }

    func act(in world: FleetWorld) {
        if let until = frozenUntil {
            guard world.now >= until else { return }
            frozenUntil = nil
        }
        let lane = world.random.below(partitions)
        switch world.random.below(8) {
        case 0: claim(lane, world)
        case 1...3: read(lane, world)
        case 4, 5: append(world)
        case 6: commit(world)
        default: if world.random.oneIn(world.isFaulty ? 6 : 40) { lanes[lane].isEnding = lanes[lane].term != nil }
        }
        for lane in lanes.indices where lanes[lane].term != nil {
            // An acknowledgement that got lost is sent again.
            world.broker.acknowledge(lane, upTo: Int(lanes[lane].progress.durable))
            keep(lane, world)
        }
    }

    // MARK: - The plugin

    private func claim(_ lane: Int, _ world: FleetWorld) {
        guard lanes[lane].term == nil, world.broker.claim(lane, number, at: world.now) else { return }
        world.note("aggregator \(number) claims \(lane)")
        lanes[lane] = Lane(term: LeaseTerm(timeToLive: FleetBroker.timeToLive, from: world.now))
        let own = positions[lane] ?? 0
        let known = UInt64(world.broker.acknowledged[lane])
        lanes[lane].progress.begin(at: world.without == .startsAtOwnPosition ? own : max(own, known))
    }

    private func keep(_ lane: Int, _ world: FleetWorld) {
        guard var term = lanes[lane].term else { return }
        defer { world.checkForgotten(lane) }
        if term.isValid(at: world.now), term.timeToRenewal(at: world.now) <= .zero {
            if world.broker.renew(lane, number, at: world.now) { term.renew(from: world.now) } else { term.lose() }
            lanes[lane].term = term
        }
        guard term.isValid(at: world.now) else {
            world.note("aggregator \(number) has lost \(lane)")
            return restart(world)
        }
        let isDrained =
            lanes[lane].progress.isStored && lanes[lane].parts.isEmpty && !offers.contains { $0.lane == lane }
        guard lanes[lane].isEnding, isDrained || world.without == .letsGoEarly else { return }
        world.note("aggregator \(number) lets \(lane) go")
        // What it has stored is acknowledged before.
        world.broker.acknowledge(lane, upTo: Int(lanes[lane].progress.durable))
        world.broker.release(lane, number)
        lanes[lane] = Lane()
    }

    /// Takes the next message, or offers the next part of one.
    private func read(_ lane: Int, _ world: FleetWorld) {
        guard let term = lanes[lane].term, term.isValid(at: world.now) else { return }
        if lanes[lane].parts.isEmpty {
            let next = lanes[lane].progress.taken
            guard !lanes[lane].isEnding, next < UInt64(world.broker.logs[lane].count) else { return }
            let message = world.broker.logs[lane][Int(next)]
            let size = world.random.within(1...4)
            lanes[lane].parts = stride(from: 0, to: message.events.count, by: size).map {
                Array(message.events[$0..<min($0 + size, message.events.count)])
            }
            lanes[lane].sequence = next + 1
        }
        let part = lanes[lane].parts.removeFirst()
        let isPart = !lanes[lane].parts.isEmpty
        let isWhole = !isPart || world.without == .movesInsideMessage
        if !isPart { lanes[lane].progress.took(lanes[lane].sequence) }
        offers.append(
            Offer(
                lane: lane, events: part, position: isWhole ? lanes[lane].sequence : lanes[lane].sequence - 1,
                isPart: isPart, until: term.end))
    }

    // MARK: - The host

    private func append(_ world: FleetWorld) {
        guard !offers.isEmpty else { return }
        let offer = offers.removeFirst()
        // The plugin renews the term of a lane whose offers wait.
        let end = max(offer.until, lanes[offer.lane].term?.end ?? offer.until)
        if world.now > end, world.without != .storesLate {
            world.note("aggregator \(number) has an offer of \(offer.lane) that came too late")
            return restart(world)
        }
        if !world.broker.isOwner(offer.lane, number, at: world.now) {
            world.violated("aggregator \(number) stores events of lane \(offer.lane), which is not its own")
        }
        let name = world.without == .sharesMarks ? "all" : "lane \(offer.lane)"
        let origin = OriginID(high: 0, low: UInt64(offer.events.first?.id.edge ?? 0))
        var last = mark(of: name, origin, world)
        var fresh: [FleetSimulatedEvent] = []
        for event in offer.events {
            let place = OriginPlace(position: event.id.position, part: 0)
            if let last, place <= last { continue }
            last = place
            var event = event
            event.order = world.nextOrder()
            fresh.append(event)
        }
        let known = Set(journal.map(\.id))
        if let again = fresh.first(where: { known.contains($0.id) }) {
            world.violated("aggregator \(number) stores \(again.id) twice")
        }
        let mark = fresh.isEmpty ? nil : last.map { OriginMark(origin: origin, place: $0) }
        appended.append(
            Stored(lane: offer.lane, events: fresh, position: offer.position, mark: mark, isPart: offer.isPart))
        appendedMarks.note(
            LanePosition(lane: name, position: [], mark: mark), end: UInt64(appended.count), durable: UInt64(durable))
        if world.without == .acknowledgesEarly { stored(appended.count - 1, world) }
    }

    private func mark(of lane: String, _ origin: OriginID, _ world: FleetWorld) -> OriginPlace? {
        switch world.without {
        case .ignoresMarks: nil
        case .ignoresAppended: marks.places[lane]?[origin]
        default: appendedMarks.mark(of: lane, origin)
        }
    }

    private func commit(_ world: FleetWorld) {
        let end = durable + world.random.below(appended.count - durable + 1)
        while durable < end {
            let offer = appended[durable]
            positions[offer.lane] = max(positions[offer.lane] ?? 0, offer.position)
            let name = world.without == .sharesMarks ? "all" : "lane \(offer.lane)"
            if let mark = offer.mark, world.without != .keepsMarksInMemory {
                marks.places[name, default: [:]][mark.origin] = mark.place
            }
            durable += 1
            stored(durable - 1, world)
        }
    }

    private func stored(_ index: Int, _ world: FleetWorld) {
        let offer = appended[index]
        guard lanes[offer.lane].term != nil else { return }
        lanes[offer.lane].progress.stored(offer.position)
        if !(world.isFaulty && world.random.oneIn(5)) {
            world.broker.acknowledge(offer.lane, upTo: Int(offer.position))
        }
        world.checkForgotten(offer.lane)
    }

    /// Whether an event is durable here.
    func hasDurable(_ id: FleetEventID) -> Bool { appended[..<durable].contains { $0.events.contains { $0.id == id } } }

    // MARK: - Ends

    /// The plugin's process is started anew: it forgets its leases, which it may take again, and begins where the
    /// durable positions are, once everything is durable.
    private func restart(_ world: FleetWorld) {
        offers = []
        commitAll(world)
        noteParts(world)
        for lane in lanes.indices { lanes[lane] = Lane() }
    }

    /// A message of which a part is stored: if another one reads on, it begins with the whole message.
    private func noteParts(_ world: FleetWorld) {
        for lane in lanes.indices where appended.last(where: { $0.lane == lane })?.isPart == true {
            world.broker.moved.insert(lane)
        }
    }

    private func commitAll(_ world: FleetWorld) {
        for lane in lanes.indices { lanes[lane].term = nil }
        while durable < appended.count { commit(world) }
    }

    /// What is not durable is lost, and so is what was only in memory.
    func crash(in world: FleetWorld) {
        appended.removeSubrange(durable...)
        noteParts(world)
        offers = []
        frozenUntil = nil
        lanes = Array(repeating: Lane(), count: partitions)
        appendedMarks = OriginMarks { [marks] lane, origin in marks.places[lane]?[origin] }
    }
}
