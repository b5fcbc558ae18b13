import Delivery
import Events
import Journal
import Synchronization

/// One destination's dead letters, in the journal's store, and which of them are to be tried again. It outlives a
/// reload, so that a retry does, too; a restart ends one, and what was not settled by then is a dead letter still.
/// Any thread.
package final class DeadLetterFile: DeadLetterSink, Sendable {
    /// Which letters are meant. Asked in turn, on one thread at a time.
    package typealias Selection = (KeptDeadLetter) -> Bool

    /// A retry that is under way.
    private struct Retry: @unchecked Sendable {
        // Unchecked: the selection is only called with the lock held.
        let selection: Selection
        /// Of the next letter to look at, and behind the last one there was when it was asked for: one that fails
        /// again is not tried for ever.
        var next: UInt64
        let end: UInt64
        /// Letters taken, and not finished yet: after a new start of the worker they are taken again.
        var taken: UInt64?
    }

    /// Bytes of events that are looked at for a worker at once, about, and how many letters it gets.
    private static let retryBytes = 4 << 20
    private static let retryLetters = 10_000
    /// As an event may have had at the door, at most.
    private static let scanLimit = (bytes: 64 << 20, depth: 1000)

    package let store: DeadLetterStore
    /// The journal's UUID, which the ids of events that came without one derive from.
    private let journal: [UInt8]
    private let retry = Mutex<Retry?>(nil)
    private let isUnderWay = Atomic(false)

    package init(_ store: DeadLetterStore, journal: [UInt8]) {
        self.store = store
        self.journal = journal
    }

    // MARK: Retrying

    /// Asks for letters to be tried again, of those that there are now.
    /// - Returns: false: one is under way already.
    package func beginRetry(_ selection: @escaping @Sendable Selection) -> Bool {
        let end = store.next
        return retry.withLock { retry in
            guard retry == nil else { return false }
            retry = Retry(selection: selection, next: 0, end: end)
            isUnderWay.store(true, ordering: .releasing)
            return true
        }
    }

    /// Whether one is under way.
    package var isRetrying: Bool { isUnderWay.load(ordering: .acquiring) }

    package func nextRetry() throws -> DeadLetterRetry? {
        try retry.withLock { retry in
            guard var current = retry else { return nil }
            // What was taken and not finished is taken again.
            let start = current.taken ?? current.next
            var letters: [UInt64: KeptDeadLetter] = [:]
            var numbers: [UInt64] = []
            var bytes = 0
            var next = current.end
            try store.forEach(from: start) { number, letter in
                guard number < current.end else { return false }
                guard bytes < Self.retryBytes, numbers.count < Self.retryLetters else {
                    next = number
                    return false
                }
                bytes += letter.event.count
                guard current.selection(letter) else { return true }
                numbers.append(number)
                // Of a position that is there twice, the one that was offered more often.
                if let other = letters[letter.position], other.attempts > letter.attempts { return true }
                letters[letter.position] = letter
                return true
            }
            guard !numbers.isEmpty || next < current.end else {
                retry = nil
                isUnderWay.store(false, ordering: .releasing)
                return nil
            }
            current.taken = start
            current.next = next
            retry = current
            return DeadLetterRetry(letters: letters.values.sorted { $0.position < $1.position }.map(letter), numbers: numbers)
        }
    }

    package func finish(_ retried: DeadLetterRetry) throws {
        try store.remove(retried.numbers)
        retry.withLock { $0?.taken = nil }
    }

    private func letter(_ kept: KeptDeadLetter) -> Delivery.DeadLetter {
        Delivery.DeadLetter(
            position: kept.position, receivedAt: kept.receivedAt ?? kept.time, event: kept.event,
            index: Self.index(of: kept.event), origin: nil, reason: kept.reason, answer: kept.answer,
            attempts: kept.attempts, refusedAt: kept.time)
    }

    /// Of an event that passed the door once. One that does not any more (what was offered in place of an event that the
    /// journal had lost) is routed as a track without a name.
    package static func index(of event: [UInt8]) -> EventIndex {
        let scanner = EventScanner(maximumEventSize: min(max(event.count, 1), scanLimit.bytes), maximumDepth: scanLimit.depth)
        var accepted: [ScannedEvent] = []
        var refused: [ScannedRefusal] = []
        _ = scanner.scan((event + [UInt8(ascii: "\n")]).span, accepted: &accepted, refused: &refused)
        return accepted.first?.index ?? EventIndex(kind: .track)
    }

    // MARK: Keeping

    package func append(_ letters: [Delivery.DeadLetter]) throws {
        try store.append(
            letters.map { letter in
                KeptDeadLetter(
                    position: letter.position, time: letter.refusedAt, receivedAt: letter.receivedAt, attempts: letter.attempts,
                    messageID: messageID(of: letter), reason: letter.reason, answer: letter.answer, event: letter.event)
            })
    }

    private func messageID(of letter: Delivery.DeadLetter) -> String {
        let slice = letter.index.messageID
        guard slice.isPresent, slice.range.upperBound <= letter.event.count else {
            return MessageID.derived(journal: journal, position: letter.position)
        }
        return JSONText.string(letter.event.span.extracting(slice.range)) ?? ""
    }
}
