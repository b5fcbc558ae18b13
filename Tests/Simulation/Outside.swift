/// One destination across all restarts: the fates of the events at the service outside the daemon.
final class Outside {
    enum Fate: UInt8 {
        case none, taken, filtered, deadLettered, dropped
    }

    let name: String
    /// Whether taken events become durable only at a checkpoint, as in a file. Otherwise they are durable at once.
    private(set) var isBuffered: Bool
    let inFlight: Int
    /// The deliveries in flight.
    var underWay = UnderWay()
    /// The bytes of state that the destination keeps with its cursor.
    var stateSize: Int
    /// The number of failures in ten attempts. 10: the destination is down.
    var trouble = 0
    private(set) var fates: [Fate] = []
    /// Taken events that are not durable, with their earlier fates.
    private var buffered: [(position: UInt64, before: Fate, replay: SimulatedReplay?)] = []
    /// A requested checkpoint that is not returned yet: its position, and the number of `buffered` events that it
    /// makes durable.
    private var begun: (position: UInt64, count: Int)?
    /// Whether its checkpoints are returned one call late.
    private(set) var checkpointsLate: Bool
    /// Whether it accepts events that it rejected before.
    var isCured = false
    /// With `order: user`: the offered positions of each user that must be retried.
    var again: [UInt64: Set<UInt64>] = [:]
    /// Every replay to this destination that was requested, by id.
    var replays: [String: SimulatedReplay] = [:]
    /// The replay that a commit made durable, and its position. nil: no replay.
    var committedReplay: (id: String, position: UInt64)?
    /// The first position that the destination gets. nil: never declared.
    var start: UInt64?
    /// Its cursor has been verified up to this position.
    var checked: UInt64 = 0
    /// The position of its cursor that a commit made durable.
    var committed: UInt64 = 0
    /// Whether it was removed from the configuration once, so that retention did not wait for it.
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

    /// - Parameter replay: the running replay, if it brought the event.
    func take(_ position: UInt64, _ replay: SimulatedReplay?) {
        if isBuffered { buffered.append((position, self[position], replay)) }
        self[position] = .taken
        replay?.brought.insert(position)
    }

    /// Makes all taken events durable.
    func checkpoint() {
        buffered = []
        begun = nil
    }

    /// Makes the events durable that were taken before the previous call.
    /// - Returns: the position of the previous call. nil: this is the first call.
    func lateCheckpoint(_ position: UInt64) -> UInt64? {
        defer { begun = (position, buffered.count) }
        guard let begun else { return nil }
        buffered.removeFirst(begun.count)
        return begun.position
    }

    /// Whether taken events are durable at once and the cursor has no state.
    var settlesAtOnce: Bool { !isBuffered && stateSize == 0 }

    /// Makes this destination settle at once. Called before its first event.
    func settleAtOnce() {
        (isBuffered, checkpointsLate, stateSize) = (false, false, 0)
    }

    /// Loses the taken events that are not durable.
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

    /// Whether the journal's reader leaves out the events that the router would filter: with one destination of three,
    /// so that each seed has both.
    var leavesOut: Bool { name.utf8.count.isMultiple(of: 2) }

    /// Whether the router sends the event to this destination. The event's number decides.
    func wants(_ event: Int) -> Bool { (event &+ name.utf8.count) % 5 != 0 }
    /// Whether the router cannot render the event.
    func refusesOnTheWay(_ event: Int) -> Bool { event % 41 == 7 && !isCured }
    /// Whether the service rejects the event.
    func isPoison(_ event: Int) -> Bool { event % 29 == 3 && !isCured }
}
