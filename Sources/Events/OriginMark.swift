/// The journal in which events were stored before this one: an edge's, if this host is an aggregator. Its UUID.
package struct OriginID: Sendable, Hashable, Comparable {
    package var high: UInt64
    package var low: UInt64

    package init(high: UInt64, low: UInt64) {
        self.high = high
        self.low = low
    }

    /// Parses 8-4-4-4-12 hexadecimal digits, in upper or lower case.
    package init?(_ text: some Collection<UInt8>) {
        guard text.count == 36 else { return nil }
        var (high, low) = (0 as UInt64, 0 as UInt64)
        var index = 0
        for byte in text {
            defer { index += 1 }
            if index == 8 || index == 13 || index == 18 || index == 23 {
                guard byte == UInt8(ascii: "-") else { return nil }
                continue
            }
            guard let digit = Self.digit(byte) else { return nil }
            (high, low) = (high << 4 | low >> 60, low << 4 | digit)
        }
        self.init(high: high, low: low)
    }

    private static func digit(_ byte: UInt8) -> UInt64? {
        switch byte {
        case UInt8(ascii: "0")...UInt8(ascii: "9"): UInt64(byte - UInt8(ascii: "0"))
        case UInt8(ascii: "a")...UInt8(ascii: "f"): UInt64(byte - UInt8(ascii: "a")) + 10
        case UInt8(ascii: "A")...UInt8(ascii: "F"): UInt64(byte - UInt8(ascii: "A")) + 10
        default: nil
        }
    }

    package static func < (one: OriginID, other: OriginID) -> Bool { (one.high, one.low) < (other.high, other.low) }
}

/// An event's place in its origin.
package struct OriginPlace: Sendable, Hashable, Comparable {
    /// In the origin's journal.
    package var position: UInt64
    /// The index among the events that the origin's transforms made of the one at `position`.
    package var part: UInt32

    package init(position: UInt64, part: UInt32) {
        self.position = position
        self.part = part
    }

    package static func < (one: OriginPlace, other: OriginPlace) -> Bool {
        (one.position, one.part) < (other.position, other.part)
    }
}

/// How far a lane has brought in the events of an origin: an event that is not above it has been stored before.
package struct OriginMark: Sendable, Hashable {
    package var origin: OriginID
    package var place: OriginPlace

    package init(origin: OriginID, place: OriginPlace) {
        self.origin = origin
        self.place = place
    }
}
