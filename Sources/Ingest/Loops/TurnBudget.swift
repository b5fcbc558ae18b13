import Platform

/// How much one turn of a connection may still process. Pure.
///
/// Input is processed in slices (see `NDJSONStream`). A turn ends after the slice in which its refusals or its time run
/// out.
package struct TurnBudget: Sendable {
    /// How many refused lines one turn processes.
    static let refusals = 1024
    static let time = Duration.microseconds(500)

    /// Whether a request with a large body is left to another turn, on a loop for clients that send much. Its events
    /// are made at once, which takes milliseconds.
    package var defersLargeBodies = false
    private let deadline: Instant
    private(set) var refusalsLeft: Int
    private(set) var accepted = 0
    private(set) var isSpent = false
    /// Bytes of input that were processed.
    private(set) var bytes = 0

    /// Events that were accepted or refused.
    var events: Int { accepted &+ spentRefusals }
    private var spentRefusals = 0

    package init(startingAt now: Instant, refusals: Int = refusals, time: Duration = time) {
        deadline = now + time
        refusalsLeft = max(refusals, 1)
    }

    /// A turn without limits, for callers that serve a single client.
    package static var unlimited: TurnBudget {
        TurnBudget(startingAt: Instant(nanoseconds: 0), refusals: .max, time: .nanoseconds(Int64.max))
    }

    mutating func note(bytes: Int) { self.bytes &+= bytes }

    mutating func spend(accepted: Int, refused: Int, at now: Instant) {
        self.accepted &+= accepted
        spentRefusals &+= refused
        refusalsLeft -= min(refused, refusalsLeft)
        isSpent = refusalsLeft == 0 || now >= deadline
    }
}
