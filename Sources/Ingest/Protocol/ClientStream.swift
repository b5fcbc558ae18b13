import Events
import Platform

/// One client's protocol: bytes in; events to the journal and answers out. It does not know sockets. Belongs to the
/// client's event loop.
///
/// - It never reads ahead of the journal. When the journal is busy, `take` stops (`isStalled`); the next call continues
///   at the same byte.
/// - One call processes what the turn's budget allows (`TurnBudget`) and leaves the rest for the next call.
protocol ClientStream: AnyObject {
    /// Whether the journal had no room for the last events.
    var isStalled: Bool { get }
    /// Whether a request was left to the next turn (`TurnBudget.defersLargeBodies`).
    var hasDeferred: Bool { get }
    /// Whether the client must be disconnected once its answers are sent.
    var hasEnded: Bool { get }
    /// Whether it is disconnected because too many of its events in a row were refused.
    var hasTooManyRefusals: Bool { get }
    /// Whether the client may read answers.
    var wantsAnswers: Bool { get }
    /// Whether it takes more input before some of its answers are durable.
    var mayTake: Bool { get }
    var isWaitingForDisk: Bool { get }
    /// The journal position that the client's last answer waits for.
    var awaitedEnd: UInt64? { get }
    /// Whether the input so far ends in the middle of a line or of a request.
    var hasUnfinishedLine: Bool { get }
    /// Grows with every finished line or request.
    var linesEnded: UInt64 { get }
    /// Whether a rate limit slows the client down: it is not read from for a while. Otherwise the protocol tells the
    /// client to wait.
    var isSlowedDown: Bool { get }
    /// The place in the client's stream up to which all lines or requests are stored or refused, if everything up to
    /// `place` was processed.
    func settled(_ place: UInt64) -> UInt64
    /// What the next process needs to go on at the end of the settled input.
    var keptState: ClientRecord.State { get }
    /// If all answers that were taken are sent: the number of acknowledged lines; HTTP: the place up to which requests
    /// are answered. Nil: there are answers that were not taken.
    func answered(settled: UInt64) -> UInt64?
    /// Bytes of memory that this client uses in addition to the fixed cost of every client.
    var heldBytes: Int { get }

    /// The client moves to another event loop, whose clients share this door.
    func use(_ door: HTTPDoor)

    /// The client has sent nothing for a while.
    func rest()

    /// Bytes of memory of finished requests that were freed since the last call.
    func takeFreedBytes() -> Int

    /// Processes as much of `bytes` as the journal and the turn allow.
    /// - Parameter answerLimit: bytes of answers, above which it stops until the answers are taken.
    /// - Returns: how many bytes were processed.
    func take(
        _ bytes: Span<UInt8>, through admission: EventAdmission, answerLimit: Int, turn: inout TurnBudget
    ) -> Int

    /// The client has finished sending.
    func finish(through admission: EventAdmission)

    /// Disconnects the client because of a limit. What was already accepted or refused stays so.
    func end(_ refusal: Refusal, through admission: EventAdmission)

    /// A stalled client need not wait longer than its protocol allows.
    /// - Returns: whether it has given up, and now has an answer.
    func giveUp(at now: Instant, through admission: EventAdmission) -> Bool

    /// The peer is gone: no more answers are prepared.
    func stopAnswering()

    /// Records that the journal is durable up to `position`.
    func durable(upTo position: UInt64)

    /// The answers to send now.
    func takeAnswers() -> [UInt8]?
}

extension NDJSONStream: ClientStream {
    var mayTake: Bool { true }
    var hasDeferred: Bool { false }
    var isSlowedDown: Bool { true }
    func rest() {}
    func takeFreedBytes() -> Int { 0 }
    func use(_ door: HTTPDoor) {}
    func settled(_ place: UInt64) -> UInt64 { place - UInt64(carry.count) }
    var keptState: ClientRecord.State {
        ClientRecord.State(lines: ledger.lines, wantsAnswers: wantsAnswers, isInLongLine: isInLongLine)
    }
    func answered(settled: UInt64) -> UInt64? { ledger.acknowledged }

    /// The client waits as long as the journal has no room: it is not read from meanwhile.
    func giveUp(at now: Instant, through admission: EventAdmission) -> Bool { false }
}
