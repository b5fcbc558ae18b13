/// A broker that loses nothing that it has acknowledged, and a network before it that does everything else.
final class FleetBroker {
    struct Request {
        var edge: Int
        var batch: Int
        var message: Int
        var partition: Int
        var events: [FleetSimulatedEvent]
    }

    /// What is on its way.
    private enum Packet {
        case request(Request)
        case answer(Request, isStored: Bool)
    }

    /// A message of a partition's log; its sequence is its index, plus 1.
    struct Message {
        var edge: Int
        var events: [FleetSimulatedEvent]
    }

    struct Lease {
        var owner: Int
        var written: ContinuousClock.Instant
    }

    private(set) var logs: [[Message]]
    /// Everything up to this sequence is acknowledged by an aggregator, and forgotten.
    private(set) var acknowledged: [Int]
    private var leases: [Lease?]
    var isFull = false
    private var packets: [Packet] = []
    /// Where each event is.
    private(set) var partition: [FleetEventID: Int] = [:]
    /// Events whose message the log has more than once.
    private(set) var repeated: Set<FleetEventID> = []
    /// Partitions that changed their owner while the last one may have had more than it had acknowledged.
    var moved: Set<Int> = []

    static let timeToLive = Duration.seconds(30)

    init(partitions: Int) {
        logs = Array(repeating: [], count: partitions)
        acknowledged = Array(repeating: 0, count: partitions)
        leases = Array(repeating: nil, count: partitions)
    }

    var isQuiet: Bool { packets.isEmpty }

    func send(_ request: Request, in world: FleetWorld) { packets.append(.request(request)) }

    /// Some packets arrive, in any order; some are lost, and some arrive twice.
    func deliverSome(in world: FleetWorld) {
        for _ in 0..<world.random.within(1...4) where !packets.isEmpty {
            // Mostly in order, as in one connection.
            let index = world.isFaulty && world.random.oneIn(8) ? world.random.below(packets.count) : 0
            let packet = packets[index]
            if !(world.isFaulty && world.random.oneIn(25)) { packets.remove(at: index) }
            if world.isFaulty, world.random.oneIn(15) { continue }
            switch packet {
            case .request(let request):
                if isFull {
                    packets.append(.answer(request, isStored: false))
                    continue
                }
                store(request)
                world.note(
                    "broker stores \(request.events.map(\.id.position)) of \(request.edge) in \(request.partition)")
                packets.append(.answer(request, isStored: true))
            case .answer(let request, let isStored):
                world.edges[request.edge].answered(request.batch, request.message, isStored: isStored, in: world)
            }
        }
    }

    private func store(_ request: Request) {
        logs[request.partition].append(Message(edge: request.edge, events: request.events))
        for event in request.events where partition.updateValue(request.partition, forKey: event.id) != nil {
            repeated.insert(event.id)
        }
    }

    /// Tells the broker that everything up to a sequence is stored.
    func acknowledge(_ lane: Int, upTo sequence: Int) {
        acknowledged[lane] = max(acknowledged[lane], min(sequence, logs[lane].count))
    }

    // MARK: - Leases

    /// - Returns: whether the aggregator has the lease now.
    func claim(_ lane: Int, _ owner: Int, at now: ContinuousClock.Instant) -> Bool {
        if let lease = leases[lane], lease.owner != owner, now < lease.written + Self.timeToLive { return false }
        // A lease that was not given back: the last owner may have stored more than it has acknowledged.
        if let lease = leases[lane], lease.owner != owner { moved.insert(lane) }
        leases[lane] = Lease(owner: owner, written: now)
        return true
    }

    /// - Returns: false: another one has it.
    func renew(_ lane: Int, _ owner: Int, at now: ContinuousClock.Instant) -> Bool {
        guard let lease = leases[lane], lease.owner == owner, now < lease.written + Self.timeToLive else {
            return false
        }
        leases[lane] = Lease(owner: owner, written: now)
        return true
    }

    func release(_ lane: Int, _ owner: Int) {
        if leases[lane]?.owner == owner { leases[lane] = nil }
    }

    /// Whether an aggregator is the only one that may store events of a lane.
    func isOwner(_ lane: Int, _ owner: Int, at now: ContinuousClock.Instant) -> Bool {
        guard let lease = leases[lane] else { return false }
        return lease.owner == owner && now < lease.written + Self.timeToLive
    }
}
