import Events

/// A keyed hash of a message id: SipHash-2-4 with 128 bits. Who does not know the key cannot find two ids with the same
/// hash. Among n ids, two have the same hash with a chance of n² / 2^129.
struct MessageIDHash: Sendable, Equatable, BitwiseCopyable {
    /// A random key. Each process makes its own.
    struct Key: Sendable {
        var first: UInt64
        var second: UInt64

        static func random() -> Key { Key(first: .random(in: 0 ... .max), second: .random(in: 0 ... .max)) }
    }

    var low: UInt64
    var high: UInt64

    init(_ text: Span<UInt8>, _ key: Key) {
        var state = State(key)
        var at = 0
        while at + 8 <= text.count {
            var word: UInt64 = 0
            for byte in 0..<8 { word |= UInt64(text[at + byte]) &<< UInt64(8 * byte) }
            state.mix(word)
            at += 8
        }
        var last = UInt64(truncatingIfNeeded: text.count) &<< 56
        for byte in 0..<(text.count - at) { last |= UInt64(text[at + byte]) &<< UInt64(8 * byte) }
        state.mix(last)
        low = state.finish(0xEE)
        high = state.finish(0xDD)
    }

    /// The hash of an event's id, as decoded text.
    /// - Parameter event: within `bytes`.
    /// - Returns: nil if the event has no id, or an empty one.
    init?(of event: ScannedEvent, in bytes: Span<UInt8>, _ key: Key) {
        let start = Int(event.offset)
        let json = bytes.extracting(start..<start + Int(event.length))
        self.init(json, event.index, key)
    }

    /// - Parameter index: the index of the event `json`.
    init?(_ json: Span<UInt8>, _ index: EventIndex, _ key: Key) {
        guard index.messageID.isPresent, index.messageID.length > 0 else { return nil }
        let contents = json.extracting(index.messageID.range)
        guard index.flags.contains(.messageIDEscaped) else {
            self.init(contents, key)
            return
        }
        var decoded: [UInt8] = []
        guard JSONText.unescape(contents, into: &decoded) else { return nil }
        self.init(decoded.span, key)
    }
}

extension MessageIDHash {
    private struct State {
        private var v0: UInt64, v1: UInt64, v2: UInt64, v3: UInt64

        init(_ key: Key) {
            v0 = key.first ^ 0x736F_6D65_7073_6575
            v1 = key.second ^ 0x646F_7261_6E64_6F6D ^ 0xEE
            v2 = key.first ^ 0x6C79_6765_6E65_7261
            v3 = key.second ^ 0x7465_6462_7974_6573
        }

        mutating func mix(_ word: UInt64) {
            v3 ^= word
            round()
            round()
            v0 ^= word
        }

        /// 0xEE gives the first half of the hash, and then 0xDD the second.
        mutating func finish(_ half: UInt64) -> UInt64 {
            if half == 0xEE { v2 ^= half } else { v1 ^= half }
            for _ in 0..<4 { round() }
            return v0 ^ v1 ^ v2 ^ v3
        }

        private mutating func round() {
            v0 &+= v1
            v1 = rotated(v1, 13) ^ v0
            v0 = rotated(v0, 32)
            v2 &+= v3
            v3 = rotated(v3, 16) ^ v2
            v0 &+= v3
            v3 = rotated(v3, 21) ^ v0
            v2 &+= v1
            v1 = rotated(v1, 17) ^ v2
            v2 = rotated(v2, 32)
        }

        private func rotated(_ word: UInt64, _ bits: UInt64) -> UInt64 { word &<< bits | word &>> (64 - bits) }
    }
}
