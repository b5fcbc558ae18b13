import Delivery
import Events
import Foundation
import Journal
import Synchronization

/// One destination's dead letters, in the journal's store, and which of them are to be tried again. It outlives a
/// reload, and a retry with it; what was asked for is kept with the letters, so that a retry goes on after a restart.
/// Any thread.
package final class DeadLetterFile: DeadLetterSink, Sendable {
    /// Which letters are meant. Asked in turn, on one thread at a time.
    package typealias Selection = @Sendable (KeptDeadLetter) -> Bool

    /// What was asked for, as it is kept.
    package struct RetryOrder: Codable, Sendable, Equatable {
        /// Behind the last letter there was when it was asked for.
        var end: UInt64
        /// Positions or message ids, and a filter, as the operator gave them.
        package var chosen: [String]?
        package var condition: String?
    }

    /// A retry that is under way.
    private struct Retry: Sendable {
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

    /// Asks for letters to be tried again, of those that there are now. A kill does not end it once this has returned.
    /// - Parameters:
    ///   - chosen, condition: what `selection` was made of.
    /// - Returns: false: one is under way already.
    /// - Throws: it cannot be kept; then it does not begin.
    package func beginRetry(
        chosen: [String]? = nil, condition: String? = nil, _ selection: @escaping Selection
    ) throws -> Bool {
        try retry.withLock { retry in
            guard retry == nil else { return false }
            let order = RetryOrder(end: store.next, chosen: chosen, condition: condition)
            let encoder = JSONEncoder()
            encoder.outputFormatting = .sortedKeys
            try store.setRetry([UInt8](try encoder.encode(order)))
            begin(order, selection, &retry)
            return true
        }
    }

    /// Goes on with the retry that was under way when the last daemon ended, if there was one.
    /// - Parameter selection: makes what was asked for into what decides.
    package func resumeRetry(_ selection: (RetryOrder) throws -> Selection) throws {
        try retry.withLock { retry in
            guard retry == nil, let note = try store.retry() else { return }
            // One of a later version is asked for again.
            guard let order = try? JSONDecoder().decode(RetryOrder.self, from: Data(note)), let selection = try? selection(order)
            else { return try store.setRetry(nil) }
            begin(order, selection, &retry)
        }
    }

    private func begin(_ order: RetryOrder, _ selection: @escaping Selection, _ retry: inout Retry?) {
        retry = Retry(selection: selection, next: 0, end: order.end)
        isUnderWay.store(true, ordering: .releasing)
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
                try store.setRetry(nil)
                retry = nil
                isUnderWay.store(false, ordering: .releasing)
                return nil
            }
            current.taken = start
            current.next = next
            retry = current
            // After a restart the letters that are left are looked at from the first one on: the same ones come together
            // again, unless some have gone meanwhile, and then nothing that is known of the others may be said of them. A
            // letter's number is given once, so what is settled of these letters stays so.
            let tag = numbers.reduce(0) { Tag.of("\($0) \($1)") }
            return DeadLetterRetry(
                letters: letters.values.sorted { $0.position < $1.position }.map(letter), numbers: numbers, tag: tag)
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
