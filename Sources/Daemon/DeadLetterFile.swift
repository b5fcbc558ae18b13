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

    /// Bytes that the destination's dead letters may take.
    func setLimit(_ bytes: Int) { store.setLimit(bytes) }

    func append(_ letters: [Delivery.DeadLetter]) throws {
        try store.append(
            letters.map { letter in
                KeptDeadLetter(
                    position: letter.position, time: letter.refusedAt, attempts: letter.attempts,
                    messageID: messageID(of: letter), reason: letter.reason, answer: letter.answer, event: letter.event)
            })
    }

    /// Answers with the letters as NDJSON, oldest first; reads from the disk.
    func list(to reply: ControlReply) {
        do {
            var lines: [DeadLetterLine] = []
            try store.forEach { letter in
                if lines.count < Self.listLimit { lines.append(DeadLetterLine(letter)) }
            }
            reply.respond(contentType: "application/x-ndjson", body: try lines.flatMap { try $0.line() })
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
    fileprivate init(_ letter: KeptDeadLetter) {
        self.init(
            position: letter.position, messageID: letter.messageID, reason: letter.reason, answer: letter.answer,
            attempts: letter.attempts, time: Timestamp.format(letter.time))
    }
}
