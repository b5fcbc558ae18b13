import Events

/// Dead letters to offer once more: the portion that a worker takes from its sink at a time. The store removes all of
/// them together, once each is delivered, filtered out or a dead letter again.
package struct DeadLetterRetry: Sendable {
    /// In ascending order of position, each position once.
    package var letters: [DeadLetter]
    /// The store's numbers of these letters, including duplicates of a position.
    package var numbers: [UInt64]

    /// Identifies this set of letters among all sets ever retried. Progress recorded under another tag must not be
    /// applied to it.
    package var tag: UInt64

    package init(letters: [DeadLetter], numbers: [UInt64], tag: UInt64 = 0) {
        self.tag = tag
        self.letters = letters
        self.numbers = numbers
    }
}

/// Makes dead letters readable like a journal.
final class RetryLog: EventLog {
    private let batch: EventBatch
    let start: UInt64
    let end: UInt64

    init(_ letters: [DeadLetter]) {
        // Its host is not known either.
        let unknown = Origin(source: "", uid: Origin.unknownID, gid: Origin.unknownID, pid: 0, host: "")
        var batch = EventBatch()
        for letter in letters {
            batch.events.append(
                EventRecord(
                    position: letter.position, receivedAt: letter.receivedAt,
                    firstReceivedAt: letter.firstReceivedAt,
                    offset: UInt32(clamping: batch.ownBytes.count), length: UInt32(clamping: letter.event.count),
                    origin: UInt32(clamping: batch.origins.count), index: letter.index))
            batch.origins.append(letter.origin ?? unknown)
            batch.ownBytes += letter.event
        }
        start = letters.first?.position ?? 0
        end = letters.last.map { $0.position &+ 1 } ?? 0
        batch.next = end
        self.batch = batch
    }

    func makeReader(from position: UInt64) throws -> any EventReader { Reader(batch, from: position) }

    private final class Reader: EventReader {
        private let batch: EventBatch
        private let position: UInt64
        private var isRead = false

        init(_ batch: EventBatch, from position: UInt64) {
            self.batch = batch
            self.position = position
        }

        func read(into batch: inout EventBatch, maximumBytes: Int) -> Bool {
            guard !isRead else { return false }
            isRead = true
            batch = self.batch
            batch.events.removeAll { $0.position < position }
            return !batch.events.isEmpty
        }
    }
}

/// Sets each event's attempts to the number of offers before it became a dead letter.
final class RetryRouter: EventRouter {
    private let router: any EventRouter
    private let attempts: [UInt64: UInt32]

    init(_ router: any EventRouter, _ letters: [DeadLetter]) {
        self.router = router
        attempts = Dictionary(letters.map { ($0.position, $0.attempts) }, uniquingKeysWith: max)
    }

    var mayTakeLong: Bool { router.mayTakeLong }

    func route(_ event: EventRecord, of batch: borrowing EventBatch, into output: inout OutboundBatch) -> RouteVerdict {
        let first = output.events.count
        let verdict = router.route(event, of: batch, into: &output)
        let before = attempts[event.position] ?? 0
        for index in first..<max(first, output.events.count) { output.events[index].attempt = before }
        return verdict
    }
}
