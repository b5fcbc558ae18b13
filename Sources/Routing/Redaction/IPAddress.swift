import Events

/// Addresses of IPv4 (four numbers) and IPv6 (RFC 4291, section 2.2).
enum IPAddress {
    /// Returns the first address at or after `start`.
    static func find(in text: Span<UInt8>, from start: Int) -> Range<Int>? {
        var position = start
        while position < text.count {
            guard isPart(text[position]), !text.isWord(at: position - 1) else {
                position += 1
                continue
            }
            var end = position
            while end < text.count, isPart(text[end]) { end += 1 }
            if !text.isWord(at: end), let range = address(text, position..<end) { return range }
            position = end
        }
        return nil
    }

    private static func isPart(_ byte: UInt8) -> Bool {
        byte.isDigit || byte == UInt8(ascii: ".") || byte == UInt8(ascii: ":")
            || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "f"))
    }

    /// Returns the address in a run of hexadecimal digits, dots and colons. A port or a full stop may follow it.
    private static func address(_ text: Span<UInt8>, _ run: Range<Int>) -> Range<Int>? {
        var whole = run
        while let last = whole.last, text[last] == UInt8(ascii: ".") { whole = whole.dropLast() }
        while let first = whole.first, text[first] == UInt8(ascii: ".") { whole = whole.dropFirst() }
        if isIPv6(text, whole) { return whole }
        if let last = whole.last, text[last] == UInt8(ascii: ":"), isIPv6(text, whole.dropLast()) {
            return whole.dropLast()
        }
        // `client:10.0.0.1:80`: try each part between colons.
        var from = whole.lowerBound
        while from < whole.upperBound {
            let to = whole[from...].first { text[$0] == UInt8(ascii: ":") } ?? whole.upperBound
            if isIPv4(text, from..<to) { return from..<to }
            from = to + 1
        }
        return nil
    }

    private static func isIPv4(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        guard (7...15).contains(range.count) else { return false }
        var parts = 0
        var digits = 0
        var value = 0
        for i in range {
            if text[i] == UInt8(ascii: ".") {
                if digits == 0 { return false }
                parts += 1
                (digits, value) = (0, 0)
            } else {
                guard text[i].isDigit, digits < 3 else { return false }
                digits += 1
                value = value * 10 + Int(text[i] - UInt8(ascii: "0"))
                if value > 255 { return false }
            }
        }
        return parts == 3 && digits > 0
    }

    private static func isIPv6(_ text: Span<UInt8>, _ range: Range<Int>) -> Bool {
        // Skip a lone `::`. It is a valid address, but it also occurs in half of all C++ names.
        guard (3...45).contains(range.count) else { return false }
        var groups = 0
        var hasGap = false
        var position = range.lowerBound
        if text[position] == UInt8(ascii: ":") {
            guard text.has(":", at: position + 1) else { return false }
            hasGap = true
            position += 2
        }
        while position < range.upperBound {
            var end = position
            while end < range.upperBound, text[end] != UInt8(ascii: ":") { end += 1 }
            if isIPv4(text, position..<end), end == range.upperBound {
                groups += 2
                break
            }
            guard (1...4).contains(end - position), !(position..<end).contains(where: { text[$0] == UInt8(ascii: ".") })
            else { return false }
            groups += 1
            if end == range.upperBound { break }
            position = end + 1
            guard position < range.upperBound else { return false }
            if text[position] == UInt8(ascii: ":") {
                if hasGap { return false }
                hasGap = true
                position += 1
            }
        }
        return hasGap ? groups >= 1 && groups < 8 : groups == 8
    }
}
