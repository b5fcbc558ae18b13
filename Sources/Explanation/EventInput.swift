/// A text that holds events, as people keep them: one a line, or spread over several lines.
package enum EventInput {
    /// The events, each on one line, in their order. What is no JSON is left for the door to refuse.
    package static func split(_ text: [UInt8]) -> [[UInt8]] {
        var events: [[UInt8]] = []
        var event: [UInt8] = []
        /// Where the second and later lines of it begin.
        var breaks: [Int] = []
        var depth = 0
        var isInString = false
        var isEscaped = false
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        func finish() {
            for event in apart(event, at: breaks) where !event.allSatisfy(isBlank) { events.append(event) }
            event.removeAll()
            breaks.removeAll()
            depth = 0
        }
        for byte in text {
            if byte == UInt8(ascii: "\n") {
                // Inside a string it is an error, and the end of what can be made sense of.
                if depth <= 0 || isInString {
                    finish()
                } else {
                    event.append(UInt8(ascii: " "))
                    breaks.append(event.count)
                }
                (isInString, isEscaped) = (false, false)
                continue
            }
            event.append(byte)
            if isInString {
                if isEscaped {
                    isEscaped = false
                } else if byte == UInt8(ascii: "\\") {
                    isEscaped = true
                } else if byte == UInt8(ascii: "\"") {
                    isInString = false
                }
                continue
            }
            switch byte {
            case UInt8(ascii: "\""): isInString = true
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
            default: break
            }
        }
        finish()
        return events
    }

    /// Lines that belong together, unless a bracket was never closed: where that makes no JSON of them, and one of
    /// them is an event for itself, as no line of an event is that is spread over several, each is on its own.
    private static func apart(_ event: [UInt8], at breaks: [Int]) -> [[UInt8]] {
        guard !breaks.isEmpty, JSONTree(event) == nil else { return [event] }
        let lines = zip([0] + breaks, breaks.map { $0 - 1 } + [event.count]).map { Array(event[$0..<$1]) }
        func isEvent(_ line: [UInt8]) -> Bool {
            guard line.first == UInt8(ascii: "{"), case .object? = JSONTree(line) else { return false }
            return true
        }
        return lines.contains(where: isEvent) ? lines : [event]
    }
}
