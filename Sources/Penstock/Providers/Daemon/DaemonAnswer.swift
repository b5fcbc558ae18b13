/// A line that the daemon sends to a client that requested acknowledgements.
enum DaemonAnswer: Equatable {
    /// The total number of lines of this connection that are on disk or rejected.
    case acknowledged(Int)
    /// - Parameter line: The number of the line on this connection, counted from 1; nil if it is missing.
    case refused(line: Int?, messageID: String?, reason: String, detail: String)
    /// A line that is not part of the protocol.
    case unknown

    private static let acknowledgement: [UInt8] = Array("{\"ack\":".utf8)

    init(_ line: ArraySlice<UInt8>) {
        if line.starts(with: Self.acknowledgement), line.last == UInt8(ascii: "}") {
            let digits = line.dropFirst(Self.acknowledgement.count).dropLast()
            guard let lines = Int(String(decoding: digits, as: UTF8.self)), lines >= 0 else {
                self = .unknown
                return
            }
            self = .acknowledged(lines)
            return
        }
        guard let refusal = JSONReader.value(of: Array(line))?.dictionary?["refused"]?.dictionary,
            let reason = refusal["reason"]?.string
        else {
            self = .unknown
            return
        }
        self = .refused(
            line: refusal["line"]?.int, messageID: refusal["messageId"]?.string, reason: reason,
            detail: refusal["detail"]?.string ?? "")
    }
}

/// Splits the bytes from the socket into the daemon's answers.
struct DaemonAnswers {
    /// The maximum length of an incomplete line in bytes. The daemon's own lines are far shorter.
    static let longestLine = 256 << 10

    private var unread: [UInt8] = []

    /// Whether the incomplete line is longer than any answer can be.
    var isTooLong: Bool { unread.count > Self.longestLine }

    mutating func take(_ bytes: ArraySlice<UInt8>) -> [DaemonAnswer] {
        unread += bytes
        var answers: [DaemonAnswer] = []
        var start = unread.startIndex
        while let end = unread[start...].firstIndex(of: UInt8(ascii: "\n")) {
            answers.append(DaemonAnswer(unread[start..<end]))
            start = end + 1
        }
        unread.removeSubrange(..<start)
        return answers
    }
}
