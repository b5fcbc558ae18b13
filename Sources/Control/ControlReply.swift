import Foundation
import Synchronization

/// The right and duty to answer one request, once. Further answers are ignored; one that is
/// dropped unanswered says 500. Any thread.
package final class ControlReply: Sendable {
    /// What goes to the connection.
    enum Answer: Sendable {
        case whole(status: Int, contentType: String, body: [UInt8])
        case lines(ControlLines)
    }

    private let send: Mutex<(@Sendable (Answer) -> Void)?>
    private let makeLines: @Sendable () -> ControlLines

    /// - Parameters:
    ///   - makeLines: the connection's stream of lines.
    ///   - send: called once.
    init(makeLines: @escaping @Sendable () -> ControlLines, send: @escaping @Sendable (Answer) -> Void) {
        self.makeLines = makeLines
        self.send = Mutex(send)
    }

    deinit { fail(500, "the daemon did not answer this request") }

    /// A report, as JSON and a line feed. Keys are sorted, so that two answers can be compared.
    package func respond(_ report: some Encodable, status: Int = 200) {
        do {
            answer(.whole(status: status, contentType: "application/json", body: try Self.json(report)))
        } catch {
            fail(500, "the answer could not be written as JSON: \(error)")
        }
    }

    /// `{"error": message}`. The message is a sentence for a person that says what to do.
    package func fail(_ status: Int, _ message: String) {
        // A dictionary of strings always has a JSON form.
        let body = (try? Self.json(["error": message])) ?? []
        answer(.whole(status: status, contentType: "application/json", body: body))
    }

    /// Bytes as they are.
    package func respond(status: Int = 200, contentType: String, body: [UInt8]) {
        answer(.whole(status: status, contentType: contentType, body: body))
    }

    /// Answers 200 and begins a stream of lines (NDJSON), which goes on until its value is
    /// finished, or the client has gone.
    package func startLines() -> ControlLines {
        let lines = makeLines()
        answer(.lines(lines))
        return lines
    }

    private func answer(_ answer: Answer) {
        let first = send.withLock { send in
            defer { send = nil }
            return send
        }
        first?(answer)
    }

    static func json(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var bytes = [UInt8](try encoder.encode(value))
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }
}
