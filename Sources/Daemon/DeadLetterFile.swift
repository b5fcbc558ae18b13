import Control
import Delivery
import Events
import Journal

/// One destination's dead letters, in the journal's store. Any thread.
final class DeadLetterFile: DeadLetterSink, Sendable {
    /// Letters that one answer lists at most.
    private static let listLimit = 10_000

    private let store: DeadLetterStore
    /// The journal's UUID, which the ids of events that came without one derive from.
    private let journal: [UInt8]

    init(_ store: DeadLetterStore, journal: [UInt8]) {
        self.store = store
        self.journal = journal
    }

    func append(_ letters: [Delivery.DeadLetter]) throws {
        try store.append(
            letters.map { letter in
                Journal.DeadLetter(
                    position: letter.position, time: letter.refusedAt, attempts: letter.attempts,
                    messageID: messageID(of: letter), reason: letter.reason, answer: letter.answer, event: letter.event)
            })
    }

    /// Answers with the letters as NDJSON, oldest first; reads from the disk.
    func list(to reply: ControlReply) {
        do {
            var body: [UInt8] = []
            var count = 0
            try store.forEach { letter in
                count += 1
                guard count <= Self.listLimit else { return }
                body += DeadLetterLine(letter).json
            }
            reply.respond(contentType: "application/x-ndjson", body: body)
        } catch {
            reply.fail(500, "\(error)")
        }
    }

    private func messageID(of letter: Delivery.DeadLetter) -> String {
        let slice = letter.index.messageID
        guard slice.isPresent, slice.range.upperBound <= letter.event.count else {
            return MessageID.derived(journal: journal, position: letter.position)
        }
        return JSONText.string(letter.event.span.extracting(slice.range)) ?? ""
    }
}

extension DeadLetterLine {
    fileprivate init(_ letter: Journal.DeadLetter) {
        self.init(
            position: letter.position, messageID: letter.messageID, reason: letter.reason, answer: letter.answer,
            attempts: letter.attempts, time: Timestamp.format(letter.time))
    }
}
