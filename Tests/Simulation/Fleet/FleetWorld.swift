import FleetFormat

/// A fleet in one thread: edges, a broker and aggregators, with a network that loses, delays, repeats and reorders, and
/// hosts that crash, freeze and come back. What decides is the code of the plugins and the host: FleetOutbox and
/// FleetPartition at the edge, LeaseTerm, LaneProgress and OriginMarks at the aggregator.
///
/// Invariants, after each step:
/// - An aggregator never stores an event twice.
/// - An aggregator stores nothing of a lane that may belong to another one.
/// - The broker forgets nothing that no aggregator has stored durably.
///
/// At the end the faults stop, everything drains, and
/// - every event that an edge counts as delivered, which are all, is in an aggregator;
/// - an event is in two aggregators only if its lane changed its owner by a crash or a freeze, or if the broker had its
///   message twice;
/// - the first occurrences of a user's events are in order.
final class FleetWorld {
    /// What the gate takes away, one at a time.
    enum Mutation: String, CaseIterable {
        /// A partition's next message is sent before the one before is acknowledged.
        case sendsAhead = "send-after-acknowledgement"
        /// What failed is sent again behind later events.
        case retriesLate = "retry-before-later-events"
        /// The events of a user go to any partition.
        case scatters = "partition-by-user"
        /// An edge forgets an event when it has sent it.
        case forgetsEarly = "keep-until-acknowledged"
        /// The broker is told before the journal is durable.
        case acknowledgesEarly = "acknowledge-after-durable"
        /// Marks are not stored with the events.
        case keepsMarksInMemory = "store-marks"
        /// Marks are stored, and not asked for.
        case ignoresMarks = "drop-below-mark"
        /// What was appended and is not durable does not count as a mark.
        case ignoresAppended = "appended-marks"
        /// Marks of one lane hold for all.
        case sharesMarks = "marks-by-lane"
        /// A lane is let go before everything of it is durable.
        case letsGoEarly = "drain-before-release"
        /// The lease is not looked at when an offer is stored.
        case storesLate = "store-within-lease"
        /// A new owner begins where it was itself, whatever the broker knows.
        case startsAtOwnPosition = "start-behind-acknowledged"
        /// A lane's position moves with the first part of a message.
        case movesInsideMessage = "position-behind-whole-message"
    }

    let without: Mutation?
    var random: Generator
    var now: ContinuousClock.Instant = .now
    let partitions: Int
    let broker: FleetBroker
    var edges: [FleetEdge] = []
    var aggregators: [FleetAggregator] = []
    var violation: String?
    /// Whether the network and the hosts fail.
    private(set) var isFaulty = true
    private let prints: Bool
    private var order = 0
    /// Up to which sequence of each lane it was checked that the broker may forget it.
    private var checked: [Int]

    init(seed: UInt64, without: Mutation? = nil, prints: Bool = false) {
        self.without = without
        self.prints = prints
        var random = Generator(seed: seed)
        partitions = random.within(1...4)
        broker = FleetBroker(partitions: partitions)
        checked = Array(repeating: 0, count: partitions)
        for number in 0..<random.within(1...4) {
            edges.append(FleetEdge(number, partitions: partitions, events: random.within(5...60), &random))
        }
        for number in 0..<random.within(1...3) {
            aggregators.append(FleetAggregator(number, partitions: partitions))
        }
        self.random = random
    }

    func note(_ text: @autoclosure () -> String) { if prints { print(text()) } }

    func violated(_ text: String) {
        note("VIOLATION \(text)")
        if violation == nil { violation = text }
    }

    func run() {
        for _ in 0..<random.within(50...600) where violation == nil { step() }
        isFaulty = false
        broker.isFull = false
        for index in aggregators.indices { aggregators[index].frozenUntil = nil }
        // Far more than any queue is long.
        for _ in 0..<20_000 where violation == nil && !isDrained { step() }
        if violation == nil { judge() }
    }

    private var isDrained: Bool {
        edges.allSatisfy(\.isDone) && broker.isQuiet
            && (0..<partitions).allSatisfy { broker.acknowledged[$0] == broker.logs[$0].count }
    }

    private func step() {
        now += .milliseconds(random.within(1...400))
        switch random.below(isFaulty ? 20 : 16) {
        case 0..<5: act(edge: random.below(edges.count))
        case 5..<9: broker.deliverSome(in: self)
        case 9..<16: act(aggregator: random.below(aggregators.count))
        case 16:
            let edge = random.below(edges.count)
            note("edge \(edge) crashes")
            edges[edge].crash(&random)
        case 17:
            let aggregator = random.below(aggregators.count)
            note("aggregator \(aggregator) crashes")
            aggregators[aggregator].crash(in: self)
        case 18:
            let aggregator = random.below(aggregators.count)
            aggregators[aggregator].frozenUntil = now + .seconds(random.within(1...90))
            note("aggregator \(aggregator) freezes")
        default: broker.isFull = random.oneIn(3)
        }
    }

    private func act(edge index: Int) { edges[index].act(in: self) }
    private func act(aggregator index: Int) { aggregators[index].act(in: self) }

    func nextOrder() -> Int {
        order += 1
        return order
    }

    /// What the broker has forgotten must be durable in an aggregator.
    func checkForgotten(_ lane: Int) {
        while checked[lane] < broker.acknowledged[lane] {
            for event in broker.logs[lane][checked[lane]].events
            where !aggregators.contains(where: { $0.hasDurable(event.id) }) {
                violated("the broker was told to forget \(event.id), which no aggregator has durably")
            }
            checked[lane] += 1
        }
    }

    // MARK: - The end

    private func judge() {
        guard isDrained else { return violated("the fleet does not drain") }
        var owners: [FleetEventID: [Int]] = [:]
        for aggregator in aggregators {
            for event in aggregator.journal { owners[event.id, default: []].append(aggregator.number) }
        }
        for edge in edges {
            for event in edge.events where owners[event.id] == nil {
                return violated("\(event.id) is in no aggregator")
            }
        }
        for (id, owners) in owners where owners.count > 1 {
            let partition = broker.partition[id] ?? 0
            if !broker.moved.contains(partition), !broker.repeated.contains(id) {
                return violated("\(id) is in \(owners.count) aggregators, and its lane was handed over in order")
            }
        }
        judgeOrder()
    }

    private func judgeOrder() {
        var seen: Set<FleetEventID> = []
        var last: [String: UInt64] = [:]
        let stored = aggregators.flatMap(\.journal).sorted { $0.order < $1.order }
        for event in stored where seen.insert(event.id).inserted {
            let user = "\(event.id.edge) \(event.user)"
            if let before = last[user], before > event.id.position {
                return violated("\(event.id) of user \(user) comes after \(before)")
            }
            last[user] = event.id.position
        }
    }
}

/// An event, by its edge and its position there.
struct FleetEventID: Hashable, CustomStringConvertible {
    var edge: Int
    var position: UInt64

    var description: String { "event \(position) of edge \(edge)" }
}

struct FleetSimulatedEvent {
    var id: FleetEventID
    var user: Int
    /// When it was stored, among all events of the fleet.
    var order = 0
}
