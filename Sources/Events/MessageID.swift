/// The id of an event whose client gave it none.
package enum MessageID {
    /// Bytes of such an id: a UUID's text.
    package static let length = 36

    /// Appends an id made of the journal's identity and the event's position in it: the same on
    /// every retry and replay, and different for every event of every journal.
    ///
    /// It is a UUID of version 8 (RFC 9562, section 5.8: the layout is the maker's): 60 bits of
    /// the journal's own UUID, its halves folded together, then the position's 62 lowest bits. A
    /// journal that takes ten million events a second needs 14,000 years to use those up.
    ///
    /// - Parameter journal: 16 bytes that are random enough to tell journals apart.
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

    /// As `appendDerived(journal:position:to:)`.
    package static func derived(journal: [UInt8], position: UInt64) -> String {
        var text: [UInt8] = []
        appendDerived(journal: journal.span, position: position, to: &text)
        return String(decoding: text, as: UTF8.self)
    }
}
