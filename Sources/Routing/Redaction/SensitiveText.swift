import Events

/// Finds sensitive text. The time is linear in the length of the text, for any text.
struct SensitiveText {
    enum Kind: String, Sendable, CaseIterable {
        case email, ip, card, phone, token

        var number: Int { Self.allCases.firstIndex(of: self) ?? 0 }
    }

    struct Hit {
        var range: Range<Int>
        /// Index into `names`.
        var kind: Int
    }

    /// Names of the kinds, followed by the name for matches of the user's patterns.
    static let names = Kind.allCases.map(\.rawValue) + ["redacted"]

    private let kinds: Set<Kind>
    private let patterns: [RegularExpression]
    /// The matches of the last `find`, in order and without overlaps.
    private(set) var hits: [Hit] = []

    init(kinds: Set<Kind>, patterns: [RegularExpression]) {
        self.kinds = kinds
        self.patterns = patterns
    }

    /// - Parameter text: decoded text.
    /// - Returns: whether there is a match.
    mutating func find(in text: Span<UInt8>) -> Bool {
        hits.removeAll(keepingCapacity: true)
        for pattern in patterns {
            var position = 0
            while let range = pattern.find(in: text, from: position) {
                hits.append(Hit(range: range, kind: Kind.allCases.count))
                position = range.upperBound
            }
        }
        // One pass over the bytes decides which searches can succeed.
        var (digits, ats, colons) = (0, 0, 0)
        for i in text.indices {
            switch text[i] {
            case UInt8(ascii: "0")...UInt8(ascii: "9"): digits += 1
            case UInt8(ascii: "@"): ats += 1
            case UInt8(ascii: ":"): colons += 1
            default: break
            }
        }
        if ats > 0, kinds.contains(.email) { search(text, .email, EmailAddress.find) }
        if digits >= 4 || colons >= 2, kinds.contains(.ip) { search(text, .ip, IPAddress.find) }
        if digits >= CardNumber.lengths.lowerBound, kinds.contains(.card) { search(text, .card, CardNumber.find) }
        if digits >= PhoneNumber.lengths.lowerBound, kinds.contains(.phone) { search(text, .phone, PhoneNumber.find) }
        if text.count >= AccessToken.minimumLength, kinds.contains(.token) { search(text, .token, AccessToken.find) }
        if hits.count > 1 { dropOverlaps() }
        return !hits.isEmpty
    }

    /// - Parameter number: a number in its JSON spelling.
    func isCardNumber(_ number: Span<UInt8>) -> Bool {
        kinds.contains(.card) && CardNumber.lengths.contains(number.count)
            && CardNumber.find(in: number, from: 0) == 0..<number.count
    }

    private mutating func search(
        _ text: Span<UInt8>, _ kind: Kind, _ find: (_ text: Span<UInt8>, _ start: Int) -> Range<Int>?
    ) {
        var position = 0
        while position < text.count, let range = find(text, position) {
            hits.append(Hit(range: range, kind: kind.number))
            position = range.upperBound
        }
    }

    /// Merges overlapping matches. The one that starts first is kept and extended to the end of the others.
    private mutating func dropOverlaps() {
        hits.sort { $0.range.lowerBound < $1.range.lowerBound }
        var kept = 0
        for i in 1..<hits.count {
            if hits[i].range.lowerBound < hits[kept].range.upperBound {
                let end = max(hits[kept].range.upperBound, hits[i].range.upperBound)
                hits[kept].range = hits[kept].range.lowerBound..<end
            } else {
                kept += 1
                hits[kept] = hits[i]
            }
        }
        hits.removeLast(hits.count - kept - 1)
    }
}

extension Span<UInt8> {
    /// Whether the position is inside the span and holds a letter or digit.
    func isWord(at position: Int) -> Bool {
        guard position >= 0, position < count else { return false }
        let byte = self[position]
        return byte.isDigit || byte.isLetter || byte >= 0x80
    }

    func isDigit(at position: Int) -> Bool { position >= 0 && position < count && self[position].isDigit }

    func has(_ character: Unicode.Scalar, at position: Int) -> Bool {
        position >= 0 && position < count && self[position] == UInt8(ascii: character)
    }
}

extension UInt8 {
    var isLetter: Bool { self | 0x20 >= UInt8(ascii: "a") && self | 0x20 <= UInt8(ascii: "z") }
}
