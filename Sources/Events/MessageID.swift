/// Derives an id for an event that the client sent without one.
package enum MessageID {
    /// The length of a derived id in bytes: a UUID as text.
    package static let length = 36

    /// Appends an id that is derived from the journal's identity and the event's position. It is the same for every
    /// retry and replay, and differs between all events of all journals.
    ///
    /// The id is a UUID of version 8 (RFC 9562, section 5.8: custom layout). It contains 60 bits of the journal's UUID
    /// (the XOR of its halves) and the lowest 62 bits of the position. At ten million events per second, a journal uses
    /// up 62 bits in 14,000 years.
    ///
    /// - Parameter journal: 16 bytes that are random enough to distinguish journals.
    package static func appendDerived(journal: Span<UInt8>, position: UInt64, to output: inout [UInt8]) {
        precondition(journal.count == 16, "a UUID has 16 bytes, not \(journal.count)")
        var folded: UInt64 = 0
        for k in 0..<8 { folded = folded << 8 | UInt64(journal[k] ^ journal[k + 8]) }
        let high = folded & 0xFFFF_FFFF_FFFF_0000 | 0x8000 | folded & 0x0FFF
        let low = 0x8000_0000_0000_0000 | position & 0x3FFF_FFFF_FFFF_FFFF
        for k in 0..<32 {
            if k == 8 || k == 12 || k == 16 || k == 20 { output.append(UInt8(ascii: "-")) }
            let nibble = UInt8(truncatingIfNeeded: (k < 16 ? high : low) >> UInt64(60 - k % 16 * 4)) & 15
            output.append(nibble < 10 ? UInt8(ascii: "0") + nibble : UInt8(ascii: "a") + nibble - 10)
        }
    }

    /// Returns the id that `appendDerived(journal:position:to:)` appends.
    package static func derived(journal: [UInt8], position: UInt64) -> String {
        var text: [UInt8] = []
        appendDerived(journal: journal.span, position: position, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
