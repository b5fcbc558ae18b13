/// Turns the bytes of a terminal into keys. Pure.
package struct TopKeys: Sendable {
    /// The longest sequence that is looked at.
    private static let longest = 16

    private var pending: [UInt8] = []

    package init() {}

    /// Whether the bytes so far may be an escape sequence or the Escape key: call `flush` if nothing follows.
    package var isUndecided: Bool { !pending.isEmpty }

    /// - Returns: the keys that are complete.
    package mutating func add(_ bytes: some Sequence<UInt8>) -> [TopState.Key] {
        pending += bytes
        var keys: [TopState.Key] = []
        while let (key, count) = first() {
            pending.removeFirst(count)
            if let key { keys.append(key) }
        }
        return keys
    }

    /// Nothing has followed for a moment.
    package mutating func flush() -> [TopState.Key] {
        defer { pending = [] }
        return pending == [0x1B] ? [.escape] : []
    }

    /// The first key, if any, and its bytes; nil: more bytes are needed.
    private func first() -> (TopState.Key?, Int)? {
        guard let byte = pending.first else { return nil }
        switch byte {
        case 0x1B: return sequence()
        case 0x0A, 0x0D: return (.enter, 1)
        case 0x08, 0x7F: return (.backspace, 1)
        case 0x20..<0x7F: return (.character(Character(Unicode.Scalar(byte))), 1)
        case 0xC2..<0xF5:
            let count = byte < 0xE0 ? 2 : byte < 0xF0 ? 3 : 4
            guard pending.count >= count else { return nil }
            let text = String(validating: pending.prefix(count), as: UTF8.self)
            return (text?.first.map { .character($0) }, count)
        default: return (nil, 1)
        }
    }

    private func sequence() -> (TopState.Key?, Int)? {
        guard pending.count >= 2 else { return nil }
        guard pending[1] == UInt8(ascii: "[") || pending[1] == UInt8(ascii: "O") else { return (.escape, 1) }
        guard let end = pending.dropFirst(2).firstIndex(where: { 0x40...0x7E ~= $0 }) else {
            return pending.count > Self.longest ? (nil, pending.count) : nil
        }
        let numbers = String(decoding: pending[2..<end], as: UTF8.self)
        let key: TopState.Key? =
            switch pending[end] {
            case UInt8(ascii: "A"): .up
            case UInt8(ascii: "B"): .down
            case UInt8(ascii: "H"): .home
            case UInt8(ascii: "F"): .end
            case UInt8(ascii: "~"):
                switch numbers {
                case "1", "7": .home
                case "4", "8": .end
                case "5": .pageUp
                case "6": .pageDown
                default: nil
                }
            default: nil
            }
        return (key, end + 1)
    }
}
