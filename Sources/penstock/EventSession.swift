import ConfigurationLanguage
import Control
import Events
import Foundation
import Glibc
import Platform

/// One client's conversation with a source's socket: lines are written, and with acknowledgements the daemon's answers
/// are read. Answers are read while lines are written, since the daemon stops reading from a client that does not read.
///
/// Every wait has the same limit. What the daemon takes or answers within it starts it anew, so a daemon that is slow
/// is waited for, and one that has stopped is not.
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
    /// Lines that are settled: on disk, or refused.
    private(set) var settledLines: UInt64 = 0
    private(set) var refusedLines: UInt64 = 0
    private var hasEnded = false
    /// The last refusal, which is about the connection where the daemon closes it.
    private var lastRefusal: Refused?
    /// Called for each refusal as it comes.
    var onRefusal: (Refused) -> Void = { _ in }
    /// Called when no answer is at hand, in `waitForInput`.
    var onQuiet: () -> Void = {}

    /// - Throws: a `ReportedError` that says what to do.
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
            let ready = try stream.wait(toWrite: true, timeout: patience.limit)
            if ready.canRead { try readAnswers() }
            if hasEnded { throw closed(before: "everything was sent") }
            if ready.canWrite { done += try writeNow(bytes[done...]) }
            if !ready.canRead && !ready.canWrite { throw stalled("took no events for") }
        }
    }

    /// - Returns: how many bytes went.
    private func writeNow(_ bytes: ArraySlice<UInt8>) throws -> Int {
        do {
            return try stream.write(bytes.span)
        } catch {
            guard error.code == EPIPE || error.code == ECONNRESET else { throw error }
            // What the daemon wrote before it closed says why.
            while !hasEnded { try readAnswers() }
            throw closed(before: "everything was sent")
        }
    }

    /// Waits until a file can be read, however long that takes, and reads answers meanwhile.
    func waitForInput(_ input: borrowing FileDescriptor) throws {
        while true {
            // A moment without answers is what ends a run of equal refusals.
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
            guard try stream.wait(toWrite: false, timeout: patience.limit).canRead else { throw stalled("acknowledged nothing for") }
            try readAnswers()
        }
        if settledLines < lines {
            throw closed(before: "it acknowledged the last \(StatusText.counted(lines - settledLines, "line")); send them again")
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
                throw ReportedError("this socket's answer is not Penstock's: \(String(decoding: line.prefix(80), as: UTF8.self))")
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

    /// - Parameter what: what the daemon did not do, before the time.
    private func stalled(_ what: String) -> ReportedError {
        let settled = wantsAnswers ? " \(settledLines) lines are settled; whether those after them arrive is not known." : ""
        return ReportedError(
            "the daemon at \(path) \(what) \(patience).\(settled) It may be starting, or its disk full: see penstock status. "
                + "--timeout waits longer, --timeout 0 without end")
    }

    private static func explain(_ error: UnixSocketError, path: String, _ patience: Patience) -> String {
        guard case .system(let failure) = error else { return "\(error)" }
        return switch failure.code {
        case ENOENT, ECONNREFUSED:
            "cannot reach the daemon at \(path): it is not running; start it with: systemctl start penstock"
        case EACCES:
            "cannot reach the daemon at \(path): permission denied; join the socket's group (ls -l \(path))"
        case EAGAIN:
            "the daemon at \(path) took no connection for \(patience): too many clients wait before this one, or it is starting. "
                + "See systemctl status penstock. --timeout waits longer, --timeout 0 without end"
        default:
            "cannot reach the daemon: \(failure)"
        }
    }
}
