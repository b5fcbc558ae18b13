import Events

/// Collects what a request changes in one event, and writes the changed event as a line.
///
/// The event need not be valid JSON: no change can make an invalid event valid, because a member is only added with the
/// comma that separates it from what is before it.
struct EventEditor {
    private struct Replacement {
        /// In the bytes that hold the event.
        var range: Range<Int>
        /// In `texts`.
        var text: Range<Int>
    }

    private var replacements: [Replacement] = []
    private var texts: [UInt8] = []
    /// Members for the end of the event, each after a comma.
    private var added: [UInt8] = []

    /// Forgets the changes to the last event.
    mutating func begin() {
        replacements.removeAll(keepingCapacity: true)
        texts.removeAll(keepingCapacity: true)
        added.removeAll(keepingCapacity: true)
    }

    /// - Parameter member: a comma, a key, a colon and a value.
    mutating func add(_ member: Span<UInt8>) { added.append(contentsOf: member) }

    /// Puts what `write` appends in place of a range. Ranges do not overlap.
    mutating func replace(_ range: Range<Int>, _ write: (inout [UInt8]) -> Bool) -> Bool {
        let start = texts.count
        guard write(&texts) else { return false }
        let place = replacements.firstIndex { $0.range.lowerBound > range.lowerBound } ?? replacements.count
        replacements.insert(Replacement(range: range, text: start..<texts.count), at: place)
        return true
    }

    /// Appends the changed event and a line feed.
    /// - Parameter event: the event, from brace to brace, in `bytes`.
    func write(_ event: Range<Int>, of bytes: Span<UInt8>, to output: inout [UInt8]) {
        var done = event.lowerBound
        for replacement in replacements {
            output.append(contentsOf: bytes.extracting(done..<replacement.range.lowerBound))
            output.append(contentsOf: texts.span.extracting(replacement.text))
            done = replacement.range.upperBound
        }
        let brace = event.upperBound - 1
        output.append(contentsOf: bytes.extracting(done..<brace))
        if !added.isEmpty {
            output.append(contentsOf: added.span.extracting(droppingFirst: isBlank(event, of: bytes) ? 1 : 0))
        }
        output.append(bytes[brace])
        output.append(UInt8(ascii: "\n"))
    }

    /// Whether the event has no members.
    private func isBlank(_ event: Range<Int>, of bytes: Span<UInt8>) -> Bool {
        var position = event.lowerBound + 1
        while position < event.upperBound - 1, bytes[position] == 0x20 || bytes[position] == 0x09 { position += 1 }
        return position == event.upperBound - 1
    }
}
