import Events

/// A fixed set of strings that is asked with bytes: `event in [ … ]` without making a string.
/// Open addressing over a hash of the length and three bytes; how to mix those is tried out when
/// the set is made, so that next to nothing collides.
struct ByteStringSet: Sendable {
    private struct Entry: BitwiseCopyable, Sendable {
        var offset: UInt32
        var length: UInt32
        /// Of the string among those given, sorted and without repetition.
        var number: UInt32
    }

    private var bytes: [UInt8] = []
    /// A power of two, at most half full. Length `.max` marks a free one.
    private var table: [Entry] = []
    private var factor: UInt64 = 0

    init(_ strings: some Sequence<String>) {
        let unique = Set(strings).sorted()
        guard !unique.isEmpty else { return }
        var entries: [Entry] = []
        for string in unique {
            entries.append(
                Entry(offset: UInt32(bytes.count), length: UInt32(string.utf8.count), number: UInt32(entries.count)))
            bytes.append(contentsOf: string.utf8)
        }
        var size = 8
        while size < unique.count * 4 { size *= 2 }
        var fewest = Int.max
        var candidate: UInt64 = 0x9E37_79B9_7F4A_7C15
        for _ in 0..<16 {
            let (tried, probes) = place(entries, size: size, factor: candidate)
            if probes < fewest { (table, factor, fewest) = (tried, candidate, probes) }
            if fewest == 0 { break }
            candidate = candidate &* 0xD134_2543_DE82_EF95 | 1
        }
    }

    private func place(_ entries: [Entry], size: Int, factor: UInt64) -> (table: [Entry], probes: Int) {
        var table = [Entry](repeating: Entry(offset: 0, length: .max, number: 0), count: size)
        var probes = 0
        for entry in entries {
            let start = Int(entry.offset)
            let text = bytes.span.extracting(start..<start + Int(entry.length))
            var slot = Self.slot(text, factor, size)
            while table[slot].length != .max {
                slot = (slot + 1) & (size - 1)
                probes += 1
            }
            table[slot] = entry
        }
        return (table, probes)
    }

    @inline(__always)
    private static func slot(_ text: Span<UInt8>, _ factor: UInt64, _ size: Int) -> Int {
        var mixed = UInt64(truncatingIfNeeded: text.count)
        if text.count > 0 {
            mixed |= UInt64(text[0]) << 16 | UInt64(text[text.count / 2]) << 24 | UInt64(text[text.count - 1]) << 32
            // A third of the way: names of one family often differ in their second word alone.
            mixed |= UInt64(text[text.count / 3]) << 40 | UInt64(text[text.count - 1 - text.count / 4]) << 48
        }
        return Int(truncatingIfNeeded: (mixed &* factor) >> 32) & (size - 1)
    }

    func contains(_ text: Span<UInt8>) -> Bool { number(of: text) != nil }

    /// Its place among the strings, sorted and without repetition.
    func number(of text: Span<UInt8>) -> Int? {
        guard !table.isEmpty else { return nil }
        let size = table.count
        var slot = Self.slot(text, factor, size)
        while true {
            let entry = table[slot]
            if entry.length == .max { return nil }
            if Int(entry.length) == text.count {
                let start = Int(entry.offset)
                if bytes.span.extracting(start..<start + text.count).hasBytes(of: text) { return Int(entry.number) }
            }
            slot = (slot + 1) & (size - 1)
        }
    }
}
