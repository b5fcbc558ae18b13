import Events
import Platform

/// Dead letters that a worker has yet to store. While any is left, the cursor stays below it and nothing newer is
/// offered to the destination. Their number is therefore bounded by the in-flight window and one read of the journal.
struct PendingDeadLetters {
    /// Letters per call to the store.
    private static let chunk = 256

    private let sink: any DeadLetterSink
    private var letters: [DeadLetter] = []
    private var backoff: Backoff
    /// When to ask the store again after it failed.
    private(set) var retryAt: Instant?

    init(sink: any DeadLetterSink, policy: DeliveryPolicy) {
        self.sink = sink
        backoff = Backoff(initial: policy.retryInitial, maximum: policy.retryMaximum)
    }

    var isEmpty: Bool { letters.isEmpty }
    /// The letter with the lowest position.
    var first: DeadLetter? { letters.min { $0.position < $1.position } }

    /// The positions of the letters that are not stored.
    var unsettled: [Range<UInt64>] { letters.map { $0.position..<$0.position &+ 1 } }

    mutating func add(_ letter: DeadLetter) { letters.append(letter) }

    /// Adds an event that a destination rejected. The letter holds the rendered event until `flush` replaces it with
    /// the original.
    mutating func add(_ refused: InFlightWindow.Refused, at time: Int64) {
        letters.append(
            DeadLetter(
                position: refused.event.position, receivedAt: refused.event.receivedAt,
                firstReceivedAt: refused.event.firstReceivedAt, event: refused.payload,
                index: EventIndex(kind: refused.event.kind), origin: nil, reason: refused.reason,
                answer: refused.answer, attempts: refused.event.attempt &+ 1, refusedAt: time))
    }

    /// Ends the wait for the store, if any.
    mutating func resume(_ now: Instant) { retryAt = retryAt.map { min($0, now) } }

    mutating func removeAll() {
        letters.removeAll()
        backoff.reset()
        retryAt = nil
    }

    /// Stores all letters in journal order.
    /// - Returns: the number of letters stored.
    /// - Throws: the store's error; `retryAt` is the time of the next attempt.
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

/// The store failed. Some letters may have been stored before that.
struct DeadLetterFailure: Error {
    var stored: Int
    var cause: any Error
}

/// Reads original events from the journal again. Positions must be asked for in ascending order.
struct OriginalEvents {
    private let log: any EventLog
    private var reader: (any EventReader)?
    private var batch = EventBatch()

    init(log: any EventLog) { self.log = log }

    /// Replaces the rendered event with the original. If the journal no longer has the event (it was damaged, or
    /// removed to free space), the letter stays as it is.
    mutating func fill(_ letter: inout DeadLetter) throws {
        guard let event = try event(at: letter.position) else { return }
        letter.receivedAt = event.receivedAt
        letter.firstReceivedAt = event.firstReceivedAt
        letter.event = batch.text(of: event)
        letter.index = event.index
        letter.origin = batch.origin(of: event)
    }

    /// Adds what the stored letter itself does not hold: the sender, and the first receive time.
    mutating func fillOrigin(_ letter: inout DeadLetter) throws {
        // After a power cut, another event may have the position (`sync: never`).
        guard letter.origin == nil, let event = try event(at: letter.position),
            batch.text(of: event) == letter.event
        else { return }
        letter.firstReceivedAt = event.firstReceivedAt
        letter.origin = batch.origin(of: event)
    }

    private mutating func event(at position: UInt64) throws -> EventRecord? {
        // The worker's reader has passed this event, so one read finds the event or its gap.
        if reader == nil || position >= batch.next {
            let reader = try log.makeReader(from: position)
            self.reader = reader
            batch.removeAll()
            batch.next = position
            _ = try reader.read(into: &batch, maximumBytes: 64 << 10)
        }
        return batch.events.first { $0.position == position }
    }
}
