import Events

/// A number as a filter sees it: whole numbers of 64 bits exactly, all others as doubles.
/// Comparing the two kinds is exact too: 9007199254740993 is not 9007199254740992.0.
enum Number: BitwiseCopyable, Sendable {
    case integer(Int64)
    case double(Double)

    /// - Parameter text: a number in JSON's grammar. nil for anything else.
    init?(_ text: Span<UInt8>) {
        guard Self.isJSON(text) else { return nil }
        if let integer = Self.integer(text) {
            self = .integer(integer)
        } else if let double = Double(String(copying: text)) {
            self = .double(double)
        } else {
            return nil
        }
    }

    private static func isJSON(_ text: Span<UInt8>) -> Bool {
        var position = 0
        func byte() -> UInt8 { position < text.count ? text[position] : 0 }
        func digits() -> Bool {
            let start = position
            while byte().isDigit { position += 1 }
            return position > start
        }
        if byte() == UInt8(ascii: "-") { position += 1 }
        guard digits() else { return false }
        if byte() == UInt8(ascii: ".") {
            position += 1
            guard digits() else { return false }
        }
        if byte() | 0x20 == UInt8(ascii: "e") {
            position += 1
            if byte() == UInt8(ascii: "+") || byte() == UInt8(ascii: "-") { position += 1 }
            guard digits() else { return false }
        }
        return position == text.count
    }

    /// nil: it has a fraction or an exponent, or does not fit.
    private static func integer(_ text: Span<UInt8>) -> Int64? {
        let negative = text[0] == UInt8(ascii: "-")
        var value: Int64 = 0
        for i in (negative ? 1 : 0)..<text.count {
            guard text[i].isDigit else { return nil }
            let (shifted, tooLarge) = value.multipliedReportingOverflow(by: 10)
            let digit = Int64(text[i] & 0x0F)
            let (sum, overflow) = negative ? shifted.subtractingReportingOverflow(digit) : shifted.addingReportingOverflow(digit)
            guard !tooLarge, !overflow else { return nil }
            value = sum
        }
        return value
    }

    var isZero: Bool { Number.order(self, .integer(0)) == 0 }

    /// JSON's spelling.
    var text: String {
        switch self {
        case .integer(let value): "\(value)"
        // Beyond a double's range: still a number in JSON.
        case .double(let value) where value.isInfinite: value > 0 ? "1e999" : "-1e999"
        case .double(let value): "\(value)"
        }
    }

    /// Below, at or above 0: the left one is less, equal, greater.
    static func order(_ left: Number, _ right: Number) -> Int {
        switch (left, right) {
        case (.integer(let a), .integer(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.double(let a), .double(let b)): a < b ? -1 : a > b ? 1 : 0
        case (.integer(let a), .double(let b)): order(a, b)
        case (.double(let a), .integer(let b)): -order(b, a)
        }
    }

    private static func order(_ a: Int64, _ b: Double) -> Int {
        // 2^63 is a double; Int64.max is not.
        if b >= 0x1p63 { return -1 }
        if b < -0x1p63 { return 1 }
        let whole = Int64(b.rounded(.towardZero))
        if a != whole { return a < whole ? -1 : 1 }
        let fraction = b - Double(whole)
        return fraction > 0 ? -1 : fraction < 0 ? 1 : 0
    }
}

extension Number: Equatable {
    static func == (left: Number, right: Number) -> Bool { order(left, right) == 0 }
}
