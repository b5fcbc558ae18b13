import Events

/// Fixed sets of strings that are looked up by bytes: `event in [ … ]` needs no `String`. All sets share one table,
/// so that a lookup touches no other memory and no reference count.
///
/// The table uses open addressing over a hash of the length and five bytes. Building a set tries several hash factors
/// and keeps the one with the fewest collisions.
struct ByteStringSets: Sendable {
    /// A handle of one set.
    struct Member: BitwiseCopyable, Sendable {
        fileprivate var start: UInt32
        /// The set's size in the table, minus one. The size is a power of two.
        fileprivate var mask: UInt32
        fileprivate var factor: UInt64
        fileprivate var isEmpty: Bool
    }

    private struct Entry: BitwiseCopyable, Sendable {
        var offset: UInt32
        /// `.max` marks a free entry.
        var length: UInt32
        var number: Int32
    }

    private var bytes: [UInt8] = []
    private var table: [Entry] = []

    /// Adds a set. The number of a string is its index among the set's distinct strings.
    mutating func add(_ strings: some Sequence<String>) -> Member {
        var entries: [Entry] = []
        // By bytes, as they are compared later: Swift's strings are equal in other forms of Unicode, too.
        var seen = Set<[UInt8]>()
        for string in strings where seen.insert(Array(string.utf8)).inserted {
            entries.append(
                Entry(offset: UInt32(bytes.count), length: UInt32(string.utf8.count), number: Int32(entries.count)))
            bytes.append(contentsOf: string.utf8)
        }
        guard !entries.isEmpty else { return Member(start: 0, mask: 0, factor: 0, isEmpty: true) }
        // At most a quarter full.
        var size = 8
        while size < entries.count * 4 { size *= 2 }
        var best: (table: [Entry], factor: UInt64, probes: Int) = ([], 0, .max)
        var factor: UInt64 = 0x9E37_79B9_7F4A_7C15
        for _ in 0..<16 {
            let (tried, probes) = place(entries, size: size, factor: factor)
            if probes < best.probes { best = (tried, factor, probes) }
            if probes == 0 { break }
            factor = factor &* 0xD134_2543_DE82_EF95 | 1
        }
        let start = UInt32(table.count)
        table += best.table
        return Member(start: start, mask: UInt32(size - 1), factor: best.factor, isEmpty: false)
    }

    private func place(_ entries: [Entry], size: Int, factor: UInt64) -> (table: [Entry], probes: Int) {
        var table = [Entry](repeating: Entry(offset: 0, length: .max, number: 0), count: size)
        var probes = 0
        for entry in entries {
            let start = Int(entry.offset)
            var slot = Self.hash(bytes.span.extracting(start..<start + Int(entry.length)), factor) & (size - 1)
            while table[slot].length != .max {
                slot = (slot + 1) & (size - 1)
                probes += 1
            }
            table[slot] = entry
        }
        return (table, probes)
    }

    @inline(__always)
    private static func hash(_ text: Span<UInt8>, _ factor: UInt64) -> Int {
        var mixed = UInt64(truncatingIfNeeded: text.count)
        if text.count > 0 {
            mixed |= UInt64(text[0]) << 16 | UInt64(text[text.count / 2]) << 24 | UInt64(text[text.count - 1]) << 32
            // One third in: names of one family often differ only in their second word.
            mixed |= UInt64(text[text.count / 3]) << 40 | UInt64(text[text.count - 1 - text.count / 4]) << 48
        }
        return Int(truncatingIfNeeded: (mixed &* factor) >> 32)
    }

    /// The string's number in a set. Nil: the set does not contain it.
    @inline(__always)
    func number(of text: Span<UInt8>, in set: Member) -> Int32? {
        if set.isEmpty { return nil }
        let mask = Int(set.mask)
        var slot = Self.hash(text, set.factor) & mask
        while true {
            let entry = table[Int(set.start) + slot]
            if entry.length == .max { return nil }
            if Int(entry.length) == text.count {
                let start = Int(entry.offset)
                if bytes.span.extracting(start..<start + text.count).hasBytes(of: text) { return entry.number }
            }
            slot = (slot + 1) & mask
        }
    }
}
