import ConfigurationSyntax
import Control
import Events
import Foundation
import Platform

/// A client connection to a source's socket. It writes lines and, with acknowledgements, reads the daemon's answers. It
/// reads answers while it writes, because the daemon stops reading from a client that does not read its answers.
///
/// Every wait has the same time limit, which restarts whenever the daemon takes bytes or answers. So the session waits
/// for a slow daemon, but not for one that has stopped.
final class EventSession {
    struct Refused: Decodable {
        var line: UInt64
        var messageId: String?
        var reason: String
        var detail: String
    }

    private struct Answer: Decodable {
        var ack: UInt64?
        var refused: Refused?
    }

    private let stream: UnixStream
    private let path: String
    private let wantsAnswers: Bool
    private let patience: Patience
    private var unparsed: [UInt8] = []
    /// The number of settled lines, either on disk or refused.
    private(set) var settledLines: UInt64 = 0
    private(set) var refusedLines: UInt64 = 0
    private var hasEnded = false
    /// The last refusal. If the daemon closes the connection, it is the reason.
    private var lastRefusal: Refused?
    /// Called for each refusal when it arrives.
    var onRefusal: (Refused) -> Void = { _ in }
    /// Called by `waitForInput` when no answer has arrived for a moment.
    var onQuiet: () -> Void = {}
    /// Called again and again while the session waits for the daemon; nil: nobody wants to know.
    var onPause: (() -> Void)?
    /// How often `onPause` is called.
    private static let pause = Duration.milliseconds(200)

    /// - Throws: a `ReportedError` with the problem and what to do.
    init(_ socket: SocketOption, acknowledgements: Bool) throws {
        path = socket.path
        patience = socket.timeout
        do {
            stream = try UnixStream(connectingTo: path, timeout: patience.limit)
        } catch {
            throw ReportedError(Self.explain(error, path: path, patience))
        }
        wantsAnswers = acknowledgements
        if acknowledgements { try write(Array("{\"penstock\":{\"acks\":true}}\n".utf8)) }
    }

    /// Sends whole lines, or parts of lines.
    func write(_ bytes: [UInt8]) throws {
        var done = 0
        while done < bytes.count {
            let ready = try wait(toWrite: true)
            if ready.canRead { try readAnswers() }
            if hasEnded { throw closed(before: "everything was sent") }
            if ready.canWrite { done += try writeNow(bytes[done...]) }
            if !ready.canRead && !ready.canWrite { throw stalled("accepted no events for") }
        }
    }

    /// Waits for the daemon, but not longer than the time limit.
    private func wait(toWrite: Bool) throws -> UnixStream.Readiness {
        guard let onPause else { return try stream.wait(toWrite: toWrite, timeout: patience.limit) }
        let clock = SystemClock()
        let deadline = patience.limit.map { clock.now() + $0 }
        while true {
            let left = deadline.map { $0 - clock.now() } ?? Self.pause
            let ready = try stream.wait(toWrite: toWrite, timeout: max(.zero, min(left, Self.pause)))
            if ready.canRead || ready.canWrite || left <= .zero { return ready }
            onPause()
        }
    }

    /// - Returns: the number of bytes written.
    private func writeNow(_ bytes: ArraySlice<UInt8>) throws -> Int {
        do {
            return try stream.write(bytes.span)
        } catch {
            guard error.isClosedByReader || error.isReset else { throw error }
            // The daemon's last answer before it closed has the reason.
            while !hasEnded { try readAnswers() }
            throw closed(before: "everything was sent")
        }
    }

    /// Waits without limit until a file can be read. Reads answers in the meantime.
    func waitForInput(_ input: borrowing FileDescriptor) throws {
        while true {
            // A moment without answers ends a run of equal refusals, so that it is printed.
            let ready = try stream.wait(or: input, timeout: .milliseconds(200))
            if ready.canRead { try readAnswers() } else if !ready.inputCanRead { onQuiet() }
            if ready.inputCanRead { return }
            if hasEnded { throw closed(before: "the end of the input") }
        }
    }

    /// Waits until `lines` lines are settled.
    func finish(lines: UInt64) throws {
        stream.finishWriting()
        guard wantsAnswers else { return }
        while settledLines < lines && !hasEnded {
            guard try wait(toWrite: false).canRead else {
                throw stalled("acknowledged nothing for")
            }
            try readAnswers()
        }
        if settledLines < lines {
            throw closed(
                before:
                    "it acknowledged the last \(Readable.counted(lines - settledLines, "line")); send them again")
        }
    }

    private func readAnswers() throws {
        let bytes = try stream.read(upTo: 64 << 10)
        if bytes.isEmpty { hasEnded = true }
        guard wantsAnswers else { return }
        unparsed += bytes
        var start = unparsed.startIndex
        while let feed = unparsed[start...].firstIndex(of: UInt8(ascii: "\n")) {
            let line = Data(unparsed[start..<feed])
            start = feed + 1
            guard let answer = try? JSONDecoder().decode(Answer.self, from: line) else {
                throw ReportedError(
                    "the answer at \(path) is not Penstock's; give a source's socket with --socket: "
                        + "\(String(decoding: line.prefix(80), as: UTF8.self))"
                )
            }
            if let refused = answer.refused {
                refusedLines += 1
                lastRefusal = refused
                onRefusal(refused)
            }
            if let lines = answer.ack { settledLines = lines }
        }
        unparsed.removeSubrange(..<start)
    }

    private func closed(before what: String) -> ReportedError {
        let reason = lastRefusal.flatMap { RefusalReason(rawValue: $0.reason) }
        let because = reason?.endsConnection == true ? " (\(reason?.rawValue ?? ""))" : ""
        return ReportedError("the daemon closed the connection\(because) before \(what)")
    }

    /// - Parameter what: the missing progress, to be followed by a duration.
    private func stalled(_ what: String) -> ReportedError {
        let settled =
            wantsAnswers ? " \(settledLines) lines are settled; it is unknown whether later lines arrive." : ""
        return ReportedError(
            "the daemon at \(path) \(what) \(patience).\(settled) It may be starting, its disk may be full, or "
                + "a rate_limit slows this user down: see penstock status. --timeout waits longer, --timeout 0 waits "
                + "without limit")
    }

    private static func explain(_ error: UnixSocketError, path: String, _ patience: Patience) -> String {
        guard case .system(let failure) = error else { return "\(error)" }
        return switch failure.connectObstacle {
        case .nobodyListens:
            "cannot reach the daemon at \(path): it is not running; start it with: systemctl start penstock"
        case .forbidden:
            "cannot reach the daemon at \(path): permission denied; join the socket's group (ls -l \(path))"
        case .timedOut:
            "the daemon at \(path) accepted no connection for \(patience): too many clients wait before this one, "
                + "or it is starting. See systemctl status penstock. "
                + "--timeout waits longer, --timeout 0 waits without limit"
        case nil:
            "cannot reach the daemon: \(failure)"
        }
    }
}
