import Control
import Delivery
import Events
import Journal
import JournalAdapters
import Routing
import Synchronization

/// A request to list, retry or drop dead letters of one destination. `perform` runs on the thread of `DiskRequests`.
struct DeadLetterRequest: Sendable {
    enum Action: Sendable {
        /// One page, starting at the letter with this number.
        case list(from: UInt64, limit: Int, withEvents: Bool)
        case retry
        case drop
    }

    /// The most letters on a page, and the approximate number of event bytes that are read for it.
    private static let largestPage = 1000
    private static let pageBytes = 16 << 20

    private let action: Action
    private let destination: RunningDestination
    private let pipeline: Pipeline
    private let name: String
    private let chosen: [String]?
    private let condition: String?
    private let matches: @Sendable (StoredDeadLetter) -> Bool

    /// - Throws: an error in the selection's filter.
    init(
        _ action: Action, of destination: RunningDestination, in pipeline: Pipeline, _ selection: DeadLetterSelection
    ) throws(FilterError) {
        self.action = action
        self.pipeline = pipeline
        self.destination = destination
        name = selection.destination
        chosen = selection.chosen
        condition = selection.condition
        matches = try Self.matches(chosen: selection.chosen, condition: selection.condition)
    }

    /// Returns the predicate that selects letters by position, message id and filter.
    static func matches(chosen: [String]?, condition: String?) throws(FilterError)
        -> @Sendable (StoredDeadLetter) -> Bool
    {
        let chosen = chosen.map(Set.init)
        let matcher = try condition.map { text throws(FilterError) in SharedMatcher(try Filter(parsing: text)) }
        return { letter in
            if let chosen, !chosen.contains("\(letter.position)"), !chosen.contains(letter.messageID) { return false }
            return matcher?.matches(letter) ?? true
        }
    }

    /// - Parameter interruption: raised when the daemon stops. Nothing is changed after that, and the request has been
    ///   answered already.
    func perform(_ interruption: Interruption, _ reply: ControlReply) {
        do {
            switch action {
            case .list(let number, let limit, let withEvents):
                let page = try page(from: number, limit: limit, withEvents: withEvents, interruption)
                guard !interruption.isRaised else { return reply.fail(503, DiskRequests.stopping) }
                reply.respond(page)
            case .retry:
                let count = try numbers(interruption).count
                guard !interruption.isRaised else { return reply.fail(503, DiskRequests.stopping) }
                guard count > 0 else { return reply.fail(404, nothing) }
                guard try destination.deadLetters.beginRetry(chosen: chosen, condition: condition, matches) else {
                    return reply.fail(
                        409, "a retry of \(name)'s dead letters is in progress already: see penstock status")
                }
                // A reload may have replaced the worker; the new one shares the letters. A worker that starts later
                // finds the retry by itself.
                pipeline[name]?.worker.backfill()
                reply.respond(DeadLetterCount(letters: count), status: 202)
            case .drop:
                guard !destination.deadLetters.isRetrying else {
                    return reply.fail(
                        409, "a retry of \(name)'s dead letters is in progress: drop the rest when it is done")
                }
                let numbers = try numbers(interruption)
                guard !interruption.isRaised else { return reply.fail(503, DiskRequests.stopping) }
                guard !numbers.isEmpty else { return reply.fail(404, nothing) }
                try destination.deadLetters.store.remove(numbers)
                reply.respond(DeadLetterCount(letters: numbers.count))
            }
        } catch {
            reply.fail(500, "\(error)")
        }
    }

    private var nothing: String { "\(name) has no such dead letters: see penstock dead-letters list \(name)" }

    private func numbers(_ interruption: Interruption) throws(JournalError) -> [UInt64] {
        var numbers: [UInt64] = []
        try destination.deadLetters.store.forEach(while: { !interruption.isRaised }) { number, letter in
            guard !interruption.isRaised else { return false }
            if matches(letter) { numbers.append(number) }
            return true
        }
        return numbers
    }

    private func page(
        from first: UInt64, limit: Int, withEvents: Bool, _ interruption: Interruption
    ) throws(JournalError) -> DeadLetterPage {
        var page = DeadLetterPage(letters: [], next: nil)
        var bytes = 0
        try destination.deadLetters.store.forEach(from: first, while: { !interruption.isRaised }) { number, letter in
            guard !interruption.isRaised else { return false }
            guard page.letters.count < min(limit, Self.largestPage), bytes < Self.pageBytes else {
                page.next = number
                return false
            }
            bytes += letter.event.count
            if matches(letter) { page.letters.append(DeadLetterLine(number, letter, withEvent: withEvents)) }
            return true
        }
        return page
    }
}

/// A filter that several threads share, one at a time.
private final class SharedMatcher: Sendable {
    private let matcher: Mutex<FilterMatcher>

    init(_ filter: Filter) { matcher = Mutex(FilterMatcher(filter)) }

    func matches(_ letter: StoredDeadLetter) -> Bool {
        let index = DeadLetterFile.index(of: letter.event)
        return matcher.withLock { $0.matches(letter.event.span, index, from: nil) }
    }
}

extension DeadLetterLine {
    fileprivate init(_ number: UInt64, _ letter: StoredDeadLetter, withEvent: Bool) {
        self.init(
            number: number, position: letter.position, messageID: letter.messageID, reason: letter.reason,
            answer: letter.answer, attempts: letter.attempts, time: Timestamp.format(letter.time),
            received: letter.receivedAt.map { Timestamp.format($0) },
            event: withEvent ? String(decoding: letter.event, as: UTF8.self) : nil)
    }
}
