import Delivery
import Events

/// An event that a new configuration treats differently, with everything that is needed to show it.
struct ComparisonSample {
    var position: UInt64
    var receivedAt: Int64
    /// The event as the journal has it.
    var event: [UInt8]
    var old: Side
    var new: Side

    struct Side {
        var outcome: EventOutcome
        /// The output, if the destination gets it.
        var output = OutboundBatch()
    }

    /// In bytes. The event and both outputs of a larger sample are left out.
    static let maximumSize = 256 << 10
}

/// What was found for one destination so far. Pure: it reads nothing and prints nothing.
struct ComparisonTally {
    /// A sample shows one kind of change: one verdict, for the same reason or in the same fields.
    struct Kind: Hashable {
        var verdict: EventVerdict
        var detail: [DifferingField] = []
        var reason = ""
    }

    private(set) var same: UInt64 = 0
    private(set) var added: UInt64 = 0
    private(set) var lost: UInt64 = 0
    private(set) var changed: UInt64 = 0
    private(set) var deadLetters: UInt64 = 0
    private(set) var fields = FieldCounts()
    private(set) var samples: [Kind: ComparisonSample] = [:]
    /// The most samples for one verdict.
    private let limit: Int
    private var kinds: [EventVerdict: Int] = [:]

    init(samples limit: Int) { self.limit = limit }

    /// The events that concern the destination before or after.
    var total: UInt64 { same + added + lost + changed + deadLetters }
    var differing: UInt64 { added + lost + changed + deadLetters }

    mutating func count(_ verdict: EventVerdict) {
        switch verdict {
        case .same: same += 1
        case .added: added += 1
        case .lost: lost += 1
        case .changed: changed += 1
        case .deadLetter: deadLetters += 1
        }
    }

    mutating func count(_ differing: [DifferingField]) {
        for field in differing { fields.add(field) }
    }

    /// Keeps the first sample of each kind, up to the limit. Call in the order of positions.
    /// - Parameter sample: called only if the sample is kept.
    mutating func keep(_ kind: Kind, _ sample: () -> ComparisonSample) {
        guard kinds[kind.verdict, default: 0] < limit, samples[kind] == nil else { return }
        kinds[kind.verdict, default: 0] += 1
        samples[kind] = sample()
    }

    /// Adds what another thread has found in other events of the same range.
    mutating func merge(_ other: ComparisonTally) {
        same += other.same
        added += other.added
        lost += other.lost
        changed += other.changed
        deadLetters += other.deadLetters
        fields.merge(other.fields)
        samples.merge(other.samples) { $0.position <= $1.position ? $0 : $1 }
    }

    /// The first samples of a verdict, in the order of positions. They do not depend on how the events were divided
    /// among threads: every kind among the first ones is new to the thread that meets it first.
    func samples(_ verdict: EventVerdict) -> [ComparisonSample] {
        Array(samples.filter { $0.key.verdict == verdict }.values.sorted { $0.position < $1.position }.prefix(limit))
    }
}
