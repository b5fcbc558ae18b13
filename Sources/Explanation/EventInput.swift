/// Splits a text into events. An event may take one line or several.
package enum EventInput {
    /// Returns the events in order, each on one line. Text that is not JSON is kept, so that admission refuses it.
    package static func split(_ text: [UInt8]) -> [[UInt8]] {
        var events: [[UInt8]] = []
        var event: [UInt8] = []
        /// The offsets in `event` at which its second and later lines begin.
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
                // A line break inside a string is an error. The event ends here, so that the next line is read anew.
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

    /// Splits lines that were joined because of a bracket that is never closed. If the joined lines are not JSON and
    /// one line alone is an object, each line is a separate event: a line of a multi-line event is never a whole
    /// object.
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
