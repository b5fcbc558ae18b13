import Events
import Foundation
import Glibc
import Platform

/// One client's conversation with a source's socket: lines in; with acknowledgements asked for,
/// what became of them out. Reads answers while it writes, since the daemon stops reading from a
/// client that does not.
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
    private let wantsAnswers: Bool
    private var unparsed: [UInt8] = []
    /// Lines that are settled: on disk, or refused.
    private(set) var settledLines: UInt64 = 0
    private(set) var refusedLines: UInt64 = 0
    private var hasEnded = false
    /// Called for each refusal as it comes.
    var onRefusal: (Refused) -> Void = { _ in }

    /// - Throws: a `ReportedError` that says what to do.
    init(socket path: String, acknowledgements: Bool) throws {
        do {
            stream = try UnixStream(connectingTo: path)
        } catch {
            throw ReportedError(Self.explain(error, path: path))
        }
        wantsAnswers = acknowledgements
        if acknowledgements { try write(Array("{\"penstock\":{\"acks\":true}}\n".utf8)) }
    }

    /// Sends whole lines, or parts of lines.
    func write(_ bytes: [UInt8]) throws {
        var done = 0
        while done < bytes.count {
            let ready = try stream.wait(toWrite: true)
            if ready.canRead && wantsAnswers { try readAnswers() }
            if hasEnded { throw ReportedError("the daemon closed the connection before everything was sent") }
            if ready.canWrite { done += try stream.write(bytes.span.extracting(done..<bytes.count)) }
        }
    }

    /// Waits until `lines` lines are settled.
    func finish(lines: UInt64) throws {
        stream.finishWriting()
        guard wantsAnswers else { return }
        while settledLines < lines && !hasEnded {
            _ = try stream.wait(toWrite: false)
            try readAnswers()
        }
        if settledLines < lines {
            throw ReportedError(
                "the daemon closed the connection with \(lines - settledLines) events unacknowledged; send them again")
        }
    }

    private func readAnswers() throws {
        let bytes = try stream.read(upTo: 64 << 10)
        if bytes.isEmpty { hasEnded = true }
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
                onRefusal(refused)
            }
            if let lines = answer.ack { settledLines = lines }
        }
        unparsed.removeSubrange(..<start)
    }

    private static func explain(_ error: UnixSocketError, path: String) -> String {
        guard case .system(let failure) = error else { return "\(error)" }
        return switch failure.code {
        case ENOENT, ECONNREFUSED:
            "cannot reach the daemon at \(path): it is not running; start it with: systemctl start penstock"
        case EACCES:
            "cannot reach the daemon at \(path): permission denied; join the socket's group (ls -l \(path))"
        default:
            "cannot reach the daemon: \(failure)"
        }
    }
}
