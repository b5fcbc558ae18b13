import Delivery
import Events
import Foundation
import Journal
import Synchronization

/// One destination's dead letters, in the journal's store, and the retry of them that is in progress. It outlives a
/// reload, and the retry with it. The request for the retry is stored with the letters, so that the retry continues
/// after a restart. Any thread.
package final class DeadLetterFile: DeadLetterSink, Sendable {
    /// Selects the letters to retry. Called for one letter at a time, on one thread at a time.
    package typealias Selection = @Sendable (StoredDeadLetter) -> Bool

    /// A request for a retry, as stored.
    package struct RetryOrder: Codable, Sendable, Equatable {
        /// The number after the last letter at the time of the request.
        var end: UInt64
        /// Positions or message ids, and a filter, as the operator gave them.
        package var chosen: [String]?
        package var condition: String?
    }

    /// A retry that is in progress.
    private struct Retry: Sendable {
        let selection: Selection
        /// The number of the next letter to examine, and the number after the last letter at the time of the request: a
        /// letter that fails again is not retried for ever.
        var next: UInt64
        let end: UInt64
        /// The number of the first letter taken and not finished; after a new start of the worker, the letters from
        /// here on are taken again.
        var taken: UInt64?
    }

    /// About how many bytes of events to examine for a worker at once, and how many letters to give it at most.
    private static let retryBytes = 4 << 20
    private static let retryLetters = 10_000
    /// The maximum size and depth of an event that admission accepts.
    private static let scanLimit = (bytes: 64 << 20, depth: 1000)

    package let store: DeadLetterStore
    /// The journal's UUID, from which ids are derived for events that came without one.
    private let journal: [UInt8]
    private let retry = Mutex<Retry?>(nil)
    private let isUnderWay = Atomic(false)

    package init(_ store: DeadLetterStore, journal: [UInt8]) {
        self.store = store
        self.journal = journal
    }

    // MARK: Retrying

    /// Begins a retry of letters that exist now. A kill does not end it once this has returned.
    /// - Parameters:
    ///   - chosen, condition: the request from which `selection` was made.
    /// - Returns: false if a retry is already in progress.
    /// - Throws: if the request cannot be stored; then the retry does not begin.
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

    /// Continues the retry that was in progress when the last daemon ended, if there was one.
    /// - Parameter selection: makes a selection from the stored request.
    package func resumeRetry(_ selection: (RetryOrder) throws -> Selection) throws {
        try retry.withLock { retry in
            guard retry == nil, let note = try store.retry() else { return }
            // A request that this version cannot read is dropped: the operator must request the retry again.
            guard let order = try? JSONDecoder().decode(RetryOrder.self, from: Data(note)),
                let selection = try? selection(order)
            else { return try store.setRetry(nil) }
            begin(order, selection, &retry)
        }
    }

    private func begin(_ order: RetryOrder, _ selection: @escaping Selection, _ retry: inout Retry?) {
        retry = Retry(selection: selection, next: 0, end: order.end)
        isUnderWay.store(true, ordering: .releasing)
    }

    /// Whether a retry is in progress.
    package var isRetrying: Bool { isUnderWay.load(ordering: .acquiring) }

    package func nextRetry() throws -> DeadLetterRetry? {
        try retry.withLock { retry in
            guard var current = retry else { return nil }
            // Letters that were taken and not finished are taken again.
            let start = current.taken ?? current.next
            var letters: [UInt64: StoredDeadLetter] = [:]
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
                let other = letters[letter.position]
                // A power cut can take an event whose letter is stored (`sync: never`), and another event then gets
                // its position. Letters of different events are retried one after the other.
                if let other, other.event != letter.event {
                    next = number
                    return false
                }
                numbers.append(number)
                // Of two letters of the same event, retry the one with more attempts.
                if let other, other.attempts > letter.attempts { return true }
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
            // After a restart the remaining letters are examined from the first one on. The same letters come together
            // again, unless some were removed meanwhile: then the settled positions of the old group must not be
            // applied to the new one, so the tag depends on the numbers. A number is assigned once, so settled letters
            // stay settled.
            let tag = numbers.reduce(0) { Tag.of("\($0) \($1)") }
            return DeadLetterRetry(
                letters: letters.values.sorted { $0.position < $1.position }.map(letter), numbers: numbers, tag: tag)
        }
    }

    package func finish(_ retried: DeadLetterRetry) throws {
        try store.remove(retried.numbers)
        retry.withLock { $0?.taken = nil }
    }

    private func letter(_ kept: StoredDeadLetter) -> DeadLetter {
        DeadLetter(
            position: kept.position, receivedAt: kept.receivedAt ?? kept.time, event: kept.event,
            index: Self.index(of: kept.event), origin: nil, reason: kept.reason, answer: kept.answer,
            attempts: kept.attempts, refusedAt: kept.time)
    }

    /// The index of an event that admission accepted once. An event that it no longer accepts (the JSON that was to be
    /// sent for an event that the journal had lost) is routed as a track without a name.
    package static func index(of event: [UInt8]) -> EventIndex {
        let scanner = EventScanner(
            maximumEventSize: min(max(event.count, 1), scanLimit.bytes), maximumDepth: scanLimit.depth)
        var accepted: [ScannedEvent] = []
        var refused: [ScannedRefusal] = []
        _ = scanner.scan((event + [UInt8(ascii: "\n")]).span, accepted: &accepted, refused: &refused)
        return accepted.first?.index ?? EventIndex(kind: .track)
    }

    // MARK: Keeping

    package func append(_ letters: [DeadLetter]) throws {
        try store.append(
            letters.map { letter in
                StoredDeadLetter(
                    position: letter.position, time: letter.refusedAt, receivedAt: letter.receivedAt,
                    attempts: letter.attempts,
                    messageID: messageID(of: letter), reason: letter.reason, answer: letter.answer, event: letter.event)
            })
    }

    private func messageID(of letter: DeadLetter) -> String {
        let slice = letter.index.messageID
        guard slice.isPresent, slice.range.upperBound <= letter.event.count else {
            return MessageID.derived(journal: journal, position: letter.position)
        }
        return JSONText.string(letter.event.span.extracting(slice.range)) ?? ""
    }
}
