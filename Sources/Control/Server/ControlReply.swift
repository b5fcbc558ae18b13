import Foundation
import Synchronization

/// Answers one request, exactly once. Further answers are ignored. A reply that is released without an answer sends
/// 500. Any thread.
package final class ControlReply: Sendable {
    /// What the connection sends.
    enum Answer: Sendable {
        case whole(status: Int, contentType: String, body: [UInt8])
        case lines(ControlLines)
    }

    /// Takes one answer for the connection. It must not outlive the connection or its event loop: the connection clears
    /// it when it ends.
    final class Slot: Sendable {
        private let take: Mutex<(@Sendable (Answer) -> Void)?>

        /// - Parameter take: called at most once, with a lock held. It may only pass the answer on.
        init(_ take: @escaping @Sendable (Answer) -> Void) { self.take = Mutex(take) }

        /// - Returns: false if there is an answer already, or if the connection has ended.
        @discardableResult
        func put(_ answer: Answer) -> Bool {
            take.withLock { take in
                guard let pass = take else { return false }
                take = nil
                pass(answer)
                return true
            }
        }

        var isEmpty: Bool { take.withLock { $0 != nil } }

        func clear() { take.withLock { $0 = nil } }
    }

    private let slot: Slot
    private let makeLines: @Sendable () -> ControlLines

    /// - Parameter makeLines: creates the connection's stream of lines.
    init(slot: Slot, makeLines: @escaping @Sendable () -> ControlLines) {
        self.slot = slot
        self.makeLines = makeLines
    }

    deinit {
        if slot.isEmpty { fail(500, "the daemon did not answer this request") }
    }

    /// Whether the client still waits: there is no answer yet, and the connection has not ended.
    package var isAwaited: Bool { slot.isEmpty }

    /// Answers with a report as JSON and a line feed. Keys are sorted, so that answers can be compared.
    package func respond(_ report: some Encodable, status: Int = 200) {
        do {
            slot.put(.whole(status: status, contentType: "application/json", body: try Self.json(report)))
        } catch {
            fail(500, "the answer could not be written as JSON: \(error)")
        }
    }

    /// Answers `{"error": message}`. The message is a sentence for a person that says what to do.
    package func fail(_ status: Int, _ message: String) {
        // Encoding a dictionary of strings never fails.
        let body = (try? Self.json(["error": message])) ?? []
        slot.put(.whole(status: status, contentType: "application/json", body: body))
    }

    /// Answers with raw bytes.
    package func respond(status: Int = 200, contentType: String, body: [UInt8]) {
        slot.put(.whole(status: status, contentType: contentType, body: body))
    }

    /// Answers 200 and starts a stream of lines (NDJSON). It continues until the stream is finished or the client
    /// disconnects.
    package func startLines() -> ControlLines {
        let lines = makeLines()
        if !slot.put(.lines(lines)) { lines.close() }
        return lines
    }

    static func json(_ value: some Encodable) throws -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        var bytes = [UInt8](try encoder.encode(value))
        bytes.append(UInt8(ascii: "\n"))
        return bytes
    }
}
