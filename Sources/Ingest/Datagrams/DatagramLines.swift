import Events

/// Events from datagrams as lines, so that they are validated and stored like the lines of a stream. Pure.
///
/// A datagram holds one event, which may contain line feeds between its tokens. They become spaces. A line feed inside
/// a string is invalid JSON. It becomes another character that is invalid there, so that the event is refused.
struct DatagramLines {
    /// Each message on one line, without white space around it, ended by a line feed.
    private(set) var bytes: [UInt8] = []
    /// Where each line begins.
    private var starts: [Int] = []

    var count: Int { starts.count }

    mutating func removeAll() {
        bytes.removeAll(keepingCapacity: true)
        starts.removeAll(keepingCapacity: true)
    }

    /// Adds a message. One of white space alone is no line.
    /// - Returns: whether it became a line.
    mutating func append(_ message: Span<UInt8>) -> Bool {
        var (first, end) = (0, message.count)
        while first < end, Self.isSpace(message[first]) { first += 1 }
        while end > first, Self.isSpace(message[end - 1]) { end -= 1 }
        guard first < end else { return false }
        let start = bytes.count
        starts.append(start)
        let text = message.extracting(first..<end)
        bytes.append(contentsOf: text)
        if (0..<text.count).contains(where: { text[$0] == Self.lineFeed }) { replaceLineFeeds(from: start) }
        bytes.append(Self.lineFeed)
        return true
    }

    private mutating func replaceLineFeeds(from start: Int) {
        var isInString = false
        var isEscaped = false
        for at in start..<bytes.count {
            switch bytes[at] {
            case Self.lineFeed: bytes[at] = isInString ? UInt8(ascii: "\r") : UInt8(ascii: " ")
            case Self.quote where !isEscaped: isInString.toggle()
            default: break
            }
            isEscaped = isInString && !isEscaped && bytes[at] == Self.backslash
        }
    }

    /// Whether a line is more than one JSON object. For a line that was refused.
    func hasSeveralObjects(_ line: Int) -> Bool {
        let end = line + 1 < starts.count ? starts[line + 1] : bytes.count
        var depth = 0
        var isInString = false
        var isEscaped = false
        for at in starts[line]..<end {
            let byte = bytes[at]
            if isInString {
                if byte == Self.quote, !isEscaped { isInString = false }
                isEscaped = !isEscaped && byte == Self.backslash
                continue
            }
            switch byte {
            case Self.quote: isInString = true
            case UInt8(ascii: "{"):
                if depth == 0, at > starts[line] { return true }
                depth += 1
            case UInt8(ascii: "}"): depth -= 1
            default: break
            }
            if depth < 0 { return false }
        }
        return false
    }

    private static let lineFeed = UInt8(ascii: "\n")
    private static let quote = UInt8(ascii: "\"")
    private static let backslash = UInt8(ascii: "\\")

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == UInt8(ascii: " ") || byte == lineFeed || byte == UInt8(ascii: "\r") || byte == UInt8(ascii: "\t")
    }
}
