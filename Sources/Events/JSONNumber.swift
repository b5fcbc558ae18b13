/// A number in an event. Integers that fit 64 bits, signed or unsigned, keep their exact value. Any other number
/// becomes the nearest Double, or infinity if it exceeds Double's range (`1e400`).
///
/// Numbers are compared by value, whatever their representation: 1 equals 1.0, and 9007199254740993 does not equal
/// 9007199254740992.0.
package enum JSONNumber: BitwiseCopyable, Sendable {
    case integer(Int64)
    /// An integer above Int64.max.
    case large(UInt64)
    case real(Double)

    /// Parses a number; nil if the text does not match JSON's grammar.
    package init?(_ text: Span<UInt8>) {
        guard let parts = Parts(text) else { return nil }
        if parts.isInteger, let magnitude = parts.mantissa {
            if let value = Int64(exactly: magnitude) {
                self = .integer(parts.isNegative ? -value : value)
                return
            }
            if parts.isNegative && magnitude == UInt64(1) << 63 {
                self = .integer(.min)
                return
            }
            if !parts.isNegative {
                self = .large(magnitude)
                return
            }
        }
        if let value = parts.exactDouble {
            self = .real(value)
            return
        }
        guard let characters = JSONText.text(text), let value = Double(characters) else { return nil }
        self = .real(value)
    }

    /// Parses a number, like `init(_:)` of bytes.
    package init?(_ text: String) { self.init(text.utf8.span) }

    package var double: Double {
        switch self {
        case .integer(let value): Double(value)
        case .large(let value): Double(value)
        case .real(let value): value
        }
    }
}

extension JSONNumber: Comparable {
    package static func == (a: JSONNumber, b: JSONNumber) -> Bool { order(a, b) == 0 }
    package static func < (a: JSONNumber, b: JSONNumber) -> Bool { order(a, b) < 0 }

    /// Negative, zero or positive, as a is less than, equal to or greater than b.
    private static func order(_ a: JSONNumber, _ b: JSONNumber) -> Int {
        switch (a, b) {
        case (.integer(let a), .integer(let b)): sign(a, b)
        case (.real(let a), .real(let b)): sign(a, b)
        case (.large(let a), .large(let b)): sign(a, b)
        case (.integer, .large): -1
        case (.large, .integer): 1
        case (.large(let a), .real(let b)): order(a, b)
        case (.real(let a), .large(let b)): -order(b, a)
        case (.integer(let a), .real(let b)): order(a, b)
        case (.real(let a), .integer(let b)): -order(b, a)
        }
    }

    private static func sign<Value: Comparable>(_ a: Value, _ b: Value) -> Int { a < b ? -1 : a > b ? 1 : 0 }

    private static func order(_ a: Int64, _ b: Double) -> Int {
        if let exact = Double(exactly: a) { return sign(exact, b) }
        // A Double outside the range of Int64 is below or above every Int64. Inside the range, `a` is too large for an
        // exact Double; a Double of that magnitude has no fraction.
        if b >= 0x1p63 { return -1 }
        if b < -0x1p63 { return 1 }
        return sign(a, Int64(b.rounded(.down)))
    }

    private static func order(_ a: UInt64, _ b: Double) -> Int {
        if let exact = Double(exactly: a) { return sign(exact, b) }
        if b >= 0x1p64 { return -1 }
        if b < 0x1p63 { return 1 }
        return sign(a, UInt64(b))
    }
}

extension JSONNumber {
    /// The parts of a number's text.
    private struct Parts {
        var isNegative = false
        /// No fraction and no exponent.
        var isInteger = true
        /// All digits before the exponent as one integer; nil if it does not fit.
        var mantissa: UInt64? = 0
        /// The power of ten by which to multiply the mantissa; nil if it is absurdly large.
        var exponent: Int? = 0

        init?(_ text: Span<UInt8>) {
            var position = 0
            func byte() -> UInt8? { position < text.count ? text[position] : nil }
            func digit() -> UInt8? {
                guard let byte = byte(), case let digit = byte &- UInt8(ascii: "0"), digit < 10 else { return nil }
                return digit
            }
            if byte() == UInt8(ascii: "-") {
                isNegative = true
                position += 1
            }
            guard let first = digit() else { return nil }
            while let digit = digit() {
                add(digit)
                position += 1
                if first == 0 { break }
            }
            var fractionDigits = 0
            if byte() == UInt8(ascii: ".") {
                isInteger = false
                position += 1
                while let digit = digit() {
                    add(digit)
                    fractionDigits += 1
                    position += 1
                }
                if fractionDigits == 0 { return nil }
            }
            var power = 0
            if let mark = byte(), mark | 0x20 == UInt8(ascii: "e") {
                isInteger = false
                position += 1
                let isBelow = byte() == UInt8(ascii: "-")
                if isBelow || byte() == UInt8(ascii: "+") { position += 1 }
                if digit() == nil { return nil }
                while let digit = digit() {
                    power = min(power * 10 + Int(digit), 1_000_000)
                    position += 1
                }
                if isBelow { power = -power }
            }
            if position != text.count { return nil }
            exponent = abs(power) < 1_000_000 ? power - fractionDigits : nil
        }

        private mutating func add(_ digit: UInt8) {
            guard let value = mantissa else { return }
            let (shifted, overflow) = value.multipliedReportingOverflow(by: 10)
            let (sum, overflows) = shifted.addingReportingOverflow(UInt64(digit))
            mantissa = overflow || overflows ? nil : sum
        }

        /// The nearest Double, if one multiplication or division produces it; else nil. Both operands are exact, so the
        /// single rounding is correct (Clinger's fast path).
        var exactDouble: Double? {
            guard let mantissa, mantissa <= 1 << 53, let exponent, abs(exponent) <= 22 else { return nil }
            var power = 1.0
            for _ in 0..<abs(exponent) { power *= 10 }
            let value = exponent < 0 ? Double(mantissa) / power : Double(mantissa) * power
            return isNegative ? -value : value
        }
    }
}
