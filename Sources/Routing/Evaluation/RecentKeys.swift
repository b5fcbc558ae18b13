import Events

/// Remembers a value for each of the latest keys, at most `limit` of them. Evicts the key that was added first.
struct RecentKeys<Value: BitwiseCopyable> {
    private var values: [Int: Value] = [:]
    /// The keys in the order of their arrival. It is a ring once it is full.
    private var order: [Int] = []
    private var oldest = 0
    private let limit: Int

    init(limit: Int) { self.limit = max(1, limit) }

    /// Hashes a key. Each process has its own seed, so that clients cannot choose keys that collide.
    /// - Parameter isText: distinguishes the string "1" from the number 1.
    static func number(_ key: Span<UInt8>, isText: Bool) -> Int {
        var hasher = Hasher()
        hasher.combine(isText)
        for i in key.indices { hasher.combine(key[i]) }
        return hasher.finalize()
    }

    subscript(number: Int) -> Value? { values[number] }

    mutating func set(_ number: Int, _ value: Value) {
        guard values.updateValue(value, forKey: number) == nil else { return }
        if order.count < limit {
            order.append(number)
        } else {
            values[order[oldest]] = nil
            order[oldest] = number
            oldest = (oldest + 1) % limit
        }
    }
}

/// The verdicts for the latest positions, so that an event that is read again gets the same verdict. It takes 256 KiB
/// once it holds a verdict.
struct VerdictHistory {
    static let limit: UInt64 = 1 << 20
    private var known: [UInt64] = []
    private var dropped: [UInt64] = []
    /// The highest position so far, plus one.
    private var end: UInt64 = 0

    /// Whether the event at a position was dropped. Nil: the position has not been seen, or too long ago.
    func wasDropped(_ position: UInt64) -> Bool? {
        guard position < end, end - position <= Self.limit else { return nil }
        let (word, bit) = Self.place(position)
        guard known[word] & bit != 0 else { return nil }
        return dropped[word] & bit != 0
    }

    mutating func remember(_ position: UInt64, dropped isDropped: Bool) {
        if known.isEmpty {
            let words = Int(Self.limit / 64)
            known = [UInt64](repeating: 0, count: words)
            dropped = known
        }
        if position >= end {
            // The positions in between have not been seen.
            forget(from: end, to: position)
            end = position + 1
        } else if end - position > Self.limit {
            return
        }
        let (word, bit) = Self.place(position)
        known[word] |= bit
        if isDropped { dropped[word] |= bit } else { dropped[word] &= ~bit }
    }

    private mutating func forget(from start: UInt64, to last: UInt64) {
        guard last - start < Self.limit else {
            for word in known.indices { known[word] = 0 }
            return
        }
        for position in start...last {
            let (word, bit) = Self.place(position)
            known[word] &= ~bit
        }
    }

    private static func place(_ position: UInt64) -> (word: Int, bit: UInt64) {
        (Int(position % limit / 64), 1 << (position % 64))
    }
}
