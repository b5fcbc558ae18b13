import Delivery
import Events
import Journal

/// One destination's dead letters, in the journal's store. Any thread.
package final class DeadLetterFile: DeadLetterSink, Sendable {
    package let store: DeadLetterStore
    /// The journal's UUID, which the ids of events that came without one derive from.
    private let journal: [UInt8]

    package init(_ store: DeadLetterStore, journal: [UInt8]) {
        self.store = store
        self.journal = journal
    }

    /// Bytes that the destination's dead letters may take.
    package func setLimit(_ bytes: Int) { store.setLimit(bytes) }

    package func append(_ letters: [Delivery.DeadLetter]) throws {
        try store.append(
            letters.map { letter in
                KeptDeadLetter(
                    position: letter.position, time: letter.refusedAt, attempts: letter.attempts,
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
