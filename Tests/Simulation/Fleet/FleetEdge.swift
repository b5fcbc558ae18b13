import FleetFormat

/// An edge: a journal with events, and a sink with one batch at a time, as the host offers them.
final class FleetEdge {
    let number: Int
    private let partitions: Int
    private(set) var events: [FleetSimulatedEvent] = []
    /// Everything below is delivered.
    private var cursor = 0
    /// What a crash goes back to.
    private var durableCursor = 0
    /// The positions of events above the cursor that are delivered.
    private var delivered: Set<Int> = []
    /// Offered and to be offered again.
    private var retried: [Int] = []
    private var offered = 0
    private var outbox = FleetOutbox()
    /// Of the batch that is on its way; answers to earlier ones do not count.
    private var batch = 0
    private var isSending = false
    private var outstanding = 0
    /// When the batch is given up.
    private var due: ContinuousClock.Instant?

    init(_ number: Int, partitions: Int, events count: Int, _ random: inout Generator) {
        self.number = number
        self.partitions = partitions
        for position in 0..<count {
            events.append(
                FleetSimulatedEvent(
                    id: FleetEventID(edge: number, position: UInt64(position)), user: random.below(4)))
        }
    }

    var isDone: Bool { cursor == events.count && !isSending }

    func act(in world: FleetWorld) {
        if isSending {
            if let due, world.now > due { giveUp(world) }
            return
        }
        var next = retried.sorted()
        retried = []
        let fresh = Array(offered..<min(events.count, offered + world.random.within(1...12)))
        if next.isEmpty || world.without == .retriesLate {
            // The mutation: later events first.
            next = world.without == .retriesLate ? fresh + next : fresh
            offered += fresh.count
        }
        next.removeAll { delivered.contains($0) || $0 < cursor }
        guard !next.isEmpty else { return }
        send(next, world)
    }

    private func send(_ indexes: [Int], _ world: FleetWorld) {
        batch += 1
        isSending = true
        outstanding = indexes.count
        due = world.now + .seconds(5)
        var messages: [FleetMessage] = []
        for partition in 0..<partitions {
            let own = indexes.filter { self.partition(of: $0, world) == partition }
            // A message is bounded, so a partition may need several.
            let size = world.random.within(1...6)
            for start in stride(from: 0, to: own.count, by: size) {
                let part = Array(own[start..<min(start + size, own.count)])
                messages.append(
                    FleetMessage(
                        number: messages.count, partition: partition, events: part, first: place(part[0]),
                        last: place(part[part.count - 1]),
                        body: []))
            }
        }
        outbox = FleetOutbox()
        let first = outbox.begin(messages)
        for message in world.without == .sendsAhead ? messages : first { publish(message, world) }
        if world.without == .forgetsEarly {
            settle(indexes)
            isSending = false
        }
    }

    private func place(_ index: Int) -> FleetPlace { FleetPlace(position: UInt64(index), part: 0) }

    private func partition(of index: Int, _ world: FleetWorld) -> Int {
        let user = world.without == .scatters ? "\(index)" : "\(number)-\(events[index].user)"
        return FleetPartition.of(user.utf8, position: UInt64(index), count: partitions)
    }

    private func publish(_ message: FleetMessage, _ world: FleetWorld) {
        world.note("edge \(number) batch \(batch) sends \(message.events) to \(message.partition)")
        world.broker.send(
            FleetBroker.Request(
                edge: number, batch: batch, message: message.number, partition: message.partition,
                events: message.events.map { events[$0] }),
            in: world)
    }

    /// The broker's answer has arrived.
    func answered(_ batch: Int, _ message: Int, isStored: Bool, in world: FleetWorld) {
        guard batch == self.batch, isSending else { return }
        if isStored {
            let (done, next) = outbox.acknowledge(message)
            settle(done)
            if let next, world.without != .sendsAhead { publish(next, world) }
        } else {
            fail(outbox.fail(message))
        }
        if outstanding == 0 { isSending = false }
    }

    private func settle(_ indexes: [Int]) {
        delivered.formUnion(indexes)
        outstanding -= indexes.count
        while delivered.contains(cursor) {
            delivered.remove(cursor)
            cursor += 1
        }
    }

    private func fail(_ indexes: [Int]) {
        retried += indexes
        outstanding -= indexes.count
    }

    private func giveUp(_ world: FleetWorld) {
        world.note("edge \(number) gives up batch \(batch)")
        fail(outbox.failAll())
        isSending = false
    }

    func crash(_ random: inout Generator) {
        // The cursor is durable from time to time.
        durableCursor += random.below(cursor - durableCursor + 1)
        cursor = durableCursor
        offered = cursor
        delivered = []
        retried = []
        isSending = false
        batch += 1
    }
}
