/// One destination across all its lives: what the service outside has taken, which is what counts.
final class Outside {
    enum Fate: UInt8 {
        case none, taken, filtered, deadLettered, dropped
    }

    let name: String
    /// What it took is durable with its checkpoint only, as a file's; otherwise at once.
    private(set) var isBuffered: Bool
    let inFlight: Int
    /// What it has in hand.
    var underWay = UnderWay()
    /// How much state it keeps with its cursor.
    var stateSize: Int
    /// Of ten attempts, how many fail; 10: it is down.
    var trouble = 0
    private(set) var fates: [Fate] = []
    /// What was taken and is not durable, with what was true of it before.
    private var buffered: [(position: UInt64, before: Fate, replay: SimulatedReplay?)] = []
    /// A checkpoint that was asked for and not given yet: its position, and how much of `buffered` it makes durable.
    private var begun: (position: UInt64, count: Int)?
    /// Its checkpoints come one call late.
    private(set) var checkpointsLate: Bool
    /// It takes what it refused for good before.
    var isCured = false
    /// With `order: user`: of each user, what was offered and has to be tried again.
    var again: [UInt64: Set<UInt64>] = [:]
    /// Every replay to it that was ever asked for, by its id.
    var replays: [String: SimulatedReplay] = [:]
    /// The replay that a commit has made durable, and how far it was; nil: none.
    var committedReplay: (id: String, position: UInt64)?
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
        checkpointsLate = isBuffered && random.percent(40)
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

    /// - Parameter replay: the one that is under way, if the event came again.
    func take(_ position: UInt64, _ replay: SimulatedReplay?) {
        if isBuffered { buffered.append((position, self[position], replay)) }
        self[position] = .taken
        replay?.brought.insert(position)
    }

    /// Everything that it took is durable.
    func checkpoint() {
        buffered = []
        begun = nil
    }

    /// Makes durable what it had when it was asked last.
    /// - Returns: the position that it was given then; nil: it was not asked yet.
    func lateCheckpoint(_ position: UInt64) -> UInt64? {
        defer { begun = (position, buffered.count) }
        guard let begun else { return nil }
        buffered.removeFirst(begun.count)
        return begun.position
    }

    /// What it takes is taken at once, and nothing is kept with its cursor.
    var settlesAtOnce: Bool { !isBuffered && stateSize == 0 }

    /// From the beginning on.
    func settleAtOnce() {
        (isBuffered, checkpointsLate, stateSize) = (false, false, 0)
    }

    /// What it had not made durable is gone.
    func crash() {
        var underWay = underWay
        underWay.interrupt(self)
        self.underWay = underWay
        for (position, before, replay) in buffered.reversed() {
            self[position] = before
            replay?.brought.remove(position)
        }
        checkpoint()
    }

    func isDurable(_ position: UInt64) -> Bool { !buffered.contains { $0.position == position } }

    /// Whether the router wants it there, by the event's number.
    func wants(_ event: Int) -> Bool { (event &+ name.utf8.count) % 5 != 0 }
    /// Whether the router, or the service, never takes it.
    func refusesOnTheWay(_ event: Int) -> Bool { event % 41 == 7 && !isCured }
    func isPoison(_ event: Int) -> Bool { event % 29 == 3 && !isCured }
}
