/// All the paths that a template can come to: whether one of them is this one, and whether two templates
/// can meet. What it takes for possible may be more than what is, never less.
struct PathPattern: Sendable {
    /// Bytes that may stand in one place.
    struct ByteSet: Equatable, Sendable {
        private var bits = SIMD4<UInt64>()

        init(_ bytes: some Sequence<UInt8>) {
            for byte in bytes { bits[Int(byte >> 6)] |= 1 << UInt64(byte & 63) }
        }

        func meets(_ other: ByteSet) -> Bool { (bits & other.bits) != SIMD4<UInt64>() }

        private static let alphanumerics = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

        static let digits = ByteSet("0123456789 ".utf8)
        /// Of names of days, months and time zones.
        static let words = ByteSet(alphanumerics + Array("+-".utf8) + Array(0x80...0xFF))
        /// Of a value of an event's (`PathValue`).
        static let values = ByteSet(alphanumerics + Array("-_.~%".utf8))
    }

    enum Token: Sendable {
        case one(ByteSet)
        /// Any number of them.
        case many(ByteSet)
    }

    /// Of each name between slashes.
    private(set) var names: [[Token]] = [[]]
    /// Each name that is the same always.
    private var literals: [String?] = []

    /// Names in front that are the same always; never the last.
    var fixed: [String] { literals.dropLast().prefix { $0 != nil }.compactMap(\.self) }

    /// - Parameter texts: put in place of the texts: one for each piece, as filled in for a time.
    init(_ pieces: [FileDestinationOptions.PathPiece], texts: [String]? = nil) {
        var literal: [UInt8]? = []
        func end() { literals.append(literal.map { String(decoding: $0, as: UTF8.self) }) }
        for (number, piece) in pieces.enumerated() {
            guard case .text(let text) = piece else {
                names[names.count - 1].append(.many(.values))
                literal = nil
                continue
            }
            let tokens = texts.map { $0[number].utf8.map(PathToken.literal) } ?? PathToken.tokens(of: text)
            for token in tokens {
                switch token {
                case .literal(UInt8(ascii: "/")):
                    end()
                    literal = []
                    names.append([])
                case .literal(let byte):
                    names[names.count - 1].append(.one(ByteSet([byte])))
                    literal?.append(byte)
                case .conversion(let letter, let isPlain):
                    names[names.count - 1] += Self.conversion(letter, isPlain)
                    literal = nil
                }
            }
        }
        end()
        // In front of the first slash is nothing.
        names.removeFirst()
        literals.removeFirst()
    }

    /// A path that stands for itself.
    init(literal path: String) {
        (names, literals) = ([], [])
        for name in path.split(separator: "/") { append(String(name)) }
    }

    private mutating func append(_ name: String) {
        names.append(name.utf8.map { .one(ByteSet([$0])) })
        literals.append(name)
    }

    /// nil: there are several.
    var path: String? { literals.contains(nil) ? nil : "/" + literals.compactMap(\.self).joined(separator: "/") }

    /// Without `..`, and without symbolic links in what is the same always.
    /// - Parameter realPath: nil for what does not exist.
    func resolved(_ realPath: (String) -> String?) -> PathPattern {
        let front = literals.prefix { $0 != nil }.compactMap(\.self)
        var result = PathPattern(literal: "/")
        var count = front.count
        while count > 0 {
            if let real = realPath("/" + front[..<count].joined(separator: "/")) {
                result = PathPattern(literal: real)
                break
            }
            count -= 1
        }
        for number in count..<names.count {
            if literals[number] == ".." {
                _ = (result.names.popLast(), result.literals.popLast())
            } else {
                result.names.append(names[number])
                result.literals.append(literals[number])
            }
        }
        return result
    }

    private static func conversion(_ letter: UInt8, _ isPlain: Bool) -> [Token] {
        switch letter {
        case UInt8(ascii: "a"), UInt8(ascii: "A"), UInt8(ascii: "b"), UInt8(ascii: "B"), UInt8(ascii: "p"), UInt8(ascii: "Z"),
            UInt8(ascii: "h"), UInt8(ascii: "P"):
            [.many(.words)]
        case UInt8(ascii: "z"): [.one(ByteSet("+-".utf8)), .many(.digits)]
        case UInt8(ascii: "Y"), UInt8(ascii: "G"): digits(isPlain ? 4 : nil)
        case UInt8(ascii: "j"): digits(isPlain ? 3 : nil)
        case UInt8(ascii: "s"): digits(nil)
        case UInt8(ascii: "u"), UInt8(ascii: "w"): digits(isPlain ? 1 : nil)
        default: digits(isPlain ? 2 : nil)
        }
    }

    /// - Parameter count: nil: one or more.
    private static func digits(_ count: Int?) -> [Token] {
        count.map { Array(repeating: .one(.digits), count: $0) } ?? [.one(.digits), .many(.digits)]
    }

    /// Whether a name is one of the `number`-th that there can be.
    func matches(_ name: some Collection<UInt8>, at number: Int) -> Bool {
        Self.meet(names[number], name.map { .one(ByteSet([$0])) })
    }

    /// Whether a name is one that a rotation gives to the last (`RotatedName`).
    func matchesRotated(_ name: some Collection<UInt8>) -> Bool {
        let (stem, tail) = RotatedName.split(names[names.count - 1], isDot: Self.isDot, isCompression: Self.isCompression)
        func sign(_ text: String) -> [Token] { text.utf8.map { .one(ByteSet([$0])) } }
        let two = Self.digits(2)
        let date = Self.digits(4) + sign("-") + two + sign("-") + two
        let time = sign("T") + two + sign("-") + two + sign("-") + two + sign("Z.") + Self.digits(nil)
        return Self.meet(stem + sign(".") + date + time + tail, name.map { .one(ByteSet([$0])) })
    }

    /// Whether both can come to the same path, as far as the shorter of them goes.
    func meetsAsFarAs(_ other: PathPattern) -> Bool {
        (0..<min(names.count, other.names.count)).allSatisfy { number in
            // Nearly always the answer is told by names that are what they are.
            if let a = literals[number], let b = other.literals[number] { return a == b }
            return Self.meet(names[number], other.names[number])
        }
    }

    private static func isDot(_ token: Token) -> Bool {
        if case .one(let set) = token { set == ByteSet(".".utf8) } else { false }
    }

    private static func isCompression(_ tail: ArraySlice<Token>) -> Bool {
        [".gz", ".zst"].contains { extensionText in
            tail.count == extensionText.utf8.count
                && zip(tail, extensionText.utf8).allSatisfy { token, byte in
                    if case .one(let set) = token { set == ByteSet([byte]) } else { false }
                }
        }
    }

    /// Whether some text is both of `a` and of `b`.
    private static func meet(_ a: [Token], _ b: [Token]) -> Bool {
        // reached[j]: the tokens of `a` so far, and the first j of `b`, can have come to the same text.
        var reached = [Bool](repeating: false, count: b.count + 1)
        reached[0] = true
        spread(&reached, over: b)
        for token in a {
            var next = [Bool](repeating: false, count: b.count + 1)
            for j in 0...b.count where reached[j] {
                switch token {
                case .many(let set):
                    next[j] = true
                    // It takes what stands in `b` as long as that fits.
                    for k in j..<b.count {
                        guard case .one(let other) = b[k] else {
                            next[k + 1] = true
                            continue
                        }
                        guard set.meets(other) else { break }
                        next[k + 1] = true
                    }
                case .one(let set):
                    guard j < b.count else { continue }
                    switch b[j] {
                    case .one(let other): if set.meets(other) { next[j + 1] = true }
                    case .many(let other): if set.meets(other) { next[j] = true }
                    }
                }
            }
            spread(&next, over: b)
            reached = next
        }
        return reached[b.count]
    }

    /// A `.many` may stand for nothing.
    private static func spread(_ reached: inout [Bool], over b: [Token]) {
        for j in 0..<b.count where reached[j] {
            if case .many = b[j] { reached[j + 1] = true }
        }
    }
}
