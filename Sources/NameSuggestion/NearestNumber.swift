/// Finds the number that a user most likely meant with an invalid text: `1_000`, `.5`, `+1`, `1,000`, `0x1F`.
package enum NearestNumber {
    /// The number in JSON's notation; nil: no good guess.
    package static func find(_ text: String) -> String? {
        var rest = text[...].drop { $0 == " " }
        while rest.last == " " { rest.removeLast() }
        let isNegative = rest.hasPrefix("-")
        if isNegative || rest.hasPrefix("+") { rest.removeFirst() }
        guard rest.utf8.count <= 64, rest.utf8.allSatisfy({ $0 < 0x80 }) else { return nil }
        let sign = isNegative ? "-" : ""
        for (prefix, radix) in [("0x", 16), ("0X", 16), ("0o", 8), ("0b", 2)] where rest.hasPrefix(prefix) {
            let digits = rest.dropFirst(2)
            guard digits.first?.isHexDigit == true else { return nil }
            return UInt64(digits, radix: radix).map { sign + String($0) }
        }
        rest.removeAll { $0 == "_" || $0 == "'" }
        let exponent = rest.firstIndex { $0 == "e" || $0 == "E" }.map { rest[$0...] } ?? ""
        guard let mantissa = mantissa(rest.dropLast(exponent.count)), let power = power(exponent) else { return nil }
        return sign + mantissa + power
    }

    /// As above, for a whole number; nil: the number has a fraction, or is too large to be intended.
    package static func whole(_ text: String) -> String? {
        guard let number = find(text), let value = Double(number), value == value.rounded(), abs(value) < 1e15 else {
            return nil
        }
        return String(Int64(value))
    }

    private static func mantissa(_ text: Substring) -> String? {
        // A decimal comma, or commas between thousands.
        var parts = text.split(separator: ".", omittingEmptySubsequences: false).map(String.init)
        let groups = parts[0].split(separator: ",", omittingEmptySubsequences: false)
        if groups.count > 1 {
            if groups.dropFirst().allSatisfy({ $0.count == 3 }) {
                parts[0] = groups.joined()
            } else if groups.count == 2, parts.count == 1 {
                parts = groups.map(String.init)
            } else {
                return nil
            }
        }
        guard parts.count <= 2, parts.contains(where: { !$0.isEmpty }),
            parts.allSatisfy({ $0.allSatisfy(\.isASCIIDigit) })
        else { return nil }
        let whole = parts[0].drop { $0 == "0" }
        let fraction = parts.count == 2 ? parts[1] : ""
        return (whole.isEmpty ? "0" : whole) + (fraction.isEmpty ? "" : "." + fraction)
    }

    /// An exponent such as `e6`, unchanged; nil: no digits follow the `e`.
    private static func power(_ text: Substring) -> String? {
        guard !text.isEmpty else { return "" }
        let digits = text.dropFirst().drop { $0 == "+" || $0 == "-" }
        return digits.isEmpty || text.count - digits.count > 2 || !digits.allSatisfy(\.isASCIIDigit)
            ? nil : String(text)
    }
}

extension Character {
    fileprivate var isASCIIDigit: Bool { ("0"..."9").contains(self) && utf8.count == 1 }
}
