/// A text that holds events, as people keep them: one a line, or spread over several lines.
package enum EventInput {
    /// The events, each on one line, in their order. What is no JSON is left for the door to refuse.
    package static func split(_ text: [UInt8]) -> [[UInt8]] {
        var events: [[UInt8]] = []
        var event: [UInt8] = []
        var depth = 0
        var isInString = false
        var isEscaped = false
        func isBlank(_ byte: UInt8) -> Bool { byte == 0x20 || byte == 0x09 || byte == 0x0D }
        func finish() {
            if !event.allSatisfy(isBlank) { events.append(event) }
            event.removeAll()
            depth = 0
        }
        for byte in text {
            if byte == UInt8(ascii: "\n") {
                // Inside a string it is an error, and the end of what can be made sense of.
                if depth <= 0 || isInString { finish() } else { event.append(UInt8(ascii: " ")) }
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
}
