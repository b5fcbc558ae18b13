import Control
import Events
import Journal
import Seams

extension DeadLetterFile {
    /// Letters that one answer lists at most.
    private static let listLimit = 10_000

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
}

extension DeadLetterLine {
    fileprivate init(_ letter: KeptDeadLetter) {
        self.init(
            position: letter.position, messageID: letter.messageID, reason: letter.reason, answer: letter.answer,
            attempts: letter.attempts, time: Timestamp.format(letter.time))
    }
}
