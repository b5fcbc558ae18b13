import Events
import Platform

/// What a worker has to put into the dead-letter store. While anything lies here, the cursor
/// stays below it and nothing newer is offered to the destination; so what lies here is bounded by
/// the in-flight window and one read of the journal.
struct DeadLetterDesk {
    /// Letters given to the store at once.
    private static let chunk = 256

    private let sink: any DeadLetterSink
    private var letters: [DeadLetter] = []
    private var backoff: Backoff
    /// While the store refuses: when it is asked again.
    private(set) var retryAt: Instant?

    init(sink: any DeadLetterSink, policy: DeliveryPolicy) {
        self.sink = sink
        backoff = Backoff(initial: policy.retryInitial, maximum: policy.retryMaximum)
    }

    var isEmpty: Bool { letters.isEmpty }
    /// The one with the lowest position.
    var first: DeadLetter? { letters.min { $0.position < $1.position } }

    /// Where the letters lie that are not stored.
    var unsettled: [Range<UInt64>] { letters.map { $0.position..<$0.position &+ 1 } }

    mutating func add(_ letter: DeadLetter) { letters.append(letter) }

    /// Adds an event that a destination refused. Until the letter is stored it holds what was
    /// offered.
    mutating func add(_ refused: InFlightWindow.Refused, at time: Int64) {
        letters.append(
            DeadLetter(
                position: refused.event.position, receivedAt: refused.event.receivedAt, event: refused.payload,
                index: EventIndex(kind: refused.event.kind), origin: nil, reason: refused.reason,
                answer: refused.answer, attempts: refused.event.attempt &+ 1, refusedAt: time))
    }

    /// Ends the wait for the store, if there is one.
    mutating func resume(_ now: Instant) { retryAt = retryAt.map { min($0, now) } }

    mutating func removeAll() {
        letters.removeAll()
        backoff.reset()
        retryAt = nil
    }

    /// Stores what there is, in journal order.
    /// - Returns: how many were stored.
    /// - Throws: the store's error; `retryAt` says when to come again.
    mutating func flush(
        _ now: Instant, originals log: any EventLog, random: inout any RandomNumberGenerator & Sendable
    ) throws -> Int {
        guard !letters.isEmpty, retryAt.map({ now >= $0 }) ?? true else { return 0 }
        var stored = 0
        do {
            letters.sort { $0.position < $1.position }
            var originals = OriginalEvents(log: log)
            while !letters.isEmpty {
                for index in letters.indices.prefix(Self.chunk) where letters[index].origin == nil {
                    try originals.fill(&letters[index])
                }
                let part = Array(letters.prefix(Self.chunk))
                try sink.append(part)
                letters.removeFirst(part.count)
                stored += part.count
            }
            backoff.reset()
            retryAt = nil
            return stored
        } catch {
            retryAt = now + backoff.fail(using: &random)
            throw DeadLetterFailure(stored: stored, cause: error)
        }
    }
}

/// The store refused; some letters may have gone in before.
struct DeadLetterFailure: Error {
    var stored: Int
    var cause: any Error
}

/// Finds events in the journal again, asked for in ascending order.
private struct OriginalEvents {
    private let log: any EventLog
    private var reader: (any EventReader)?
    private var batch = EventBatch()

    init(log: any EventLog) { self.log = log }

    /// Puts the original in place of what was offered. An event that the journal no longer has
    /// (damage, or removed to make room) is left as it is.
    mutating func fill(_ letter: inout DeadLetter) throws {
        // The worker's reader got past this event, so at most one read finds it or its gap.
        if reader == nil || letter.position >= batch.next {
            let reader = try log.makeReader(from: letter.position)
            self.reader = reader
            batch.removeAll()
            batch.next = letter.position
            _ = try reader.read(into: &batch, maximumBytes: 64 << 10)
        }
        guard let event = batch.events.first(where: { $0.position == letter.position }) else { return }
        letter.receivedAt = event.receivedAt
        letter.event = Array(batch.bytes[event.range])
        letter.index = event.index
        letter.origin = batch.origins.indices.contains(Int(event.origin)) ? batch.origins[Int(event.origin)] : nil
    }
}
