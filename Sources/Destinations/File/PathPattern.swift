/// The set of all paths that a template can make. Decides whether a path is one of them, and whether two templates can
/// make the same path. The set may be larger than the real one, never smaller.
struct PathPattern: Sendable {
    /// The bytes that are possible at one place.
    struct ByteSet: Equatable, Sendable {
        private var bits = SIMD4<UInt64>()

        init(_ bytes: some Sequence<UInt8>) {
            for byte in bytes { bits[Int(byte >> 6)] |= 1 << UInt64(byte & 63) }
        }

        func meets(_ other: ByteSet) -> Bool { (bits & other.bits) != SIMD4<UInt64>() }

        private static let alphanumerics = Array("0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz".utf8)

        static let digits = ByteSet("0123456789 ".utf8)
        /// For names of days, months and time zones.
        static let words = ByteSet(alphanumerics + Array("+-".utf8) + Array(0x80...0xFF))
        /// For a value of an event's field (`PathValue`).
        static let values = ByteSet(alphanumerics + Array("-_.~%".utf8))
    }

    enum Token: Sendable {
        case one(ByteSet)
        /// Zero or more of these bytes.
        case many(ByteSet)
    }

    /// The tokens of each name between slashes.
    private(set) var names: [[Token]] = [[]]
    /// Each name that is always the same; nil: it varies.
    private var literals: [String?] = []

    /// The leading names that are always the same, without the last name of the path.
    var fixed: [String] { literals.dropLast().prefix { $0 != nil }.compactMap(\.self) }

    /// - Parameter texts: replace the template's texts: one per piece, filled in for a time.
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
        // Nothing precedes the first slash.
        names.removeFirst()
        literals.removeFirst()
    }

    /// A single path.
    init(literal path: String) {
        (names, literals) = ([], [])
        for name in path.split(separator: "/") { append(String(name)) }
    }

    private mutating func append(_ name: String) {
        names.append(name.utf8.map { .one(ByteSet([$0])) })
        literals.append(name)
    }

    /// The path if there is only one; nil: there are several.
    var path: String? { literals.contains(nil) ? nil : "/" + literals.compactMap(\.self).joined(separator: "/") }

    /// The pattern without `..`, and without symbolic links in its fixed part.
    /// - Parameter realPath: nil for a path that doesn't exist.
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
        case UInt8(ascii: "a"), UInt8(ascii: "A"), UInt8(ascii: "b"), UInt8(ascii: "B"), UInt8(ascii: "p"),
            UInt8(ascii: "Z"),
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

    /// Whether `name` is possible as the `number`-th name.
    func matches(_ name: some Collection<UInt8>, at number: Int) -> Bool {
        Self.meet(names[number], name.map { .one(ByteSet([$0])) })
    }

    /// Whether `name` is possible as a rotated form of the last name (`RotatedName`).
    func matchesRotated(_ name: some Collection<UInt8>) -> Bool {
        let (stem, tail) = RotatedName.split(
            names[names.count - 1], isDot: Self.isDot, isCompression: Self.isCompression)
        func sign(_ text: String) -> [Token] { text.utf8.map { .one(ByteSet([$0])) } }
        let two = Self.digits(2)
        let date = Self.digits(4) + sign("-") + two + sign("-") + two
        let time = sign("T") + two + sign("-") + two + sign("-") + two + sign("Z.") + Self.digits(nil)
        return Self.meet(stem + sign(".") + date + time + tail, name.map { .one(ByteSet([$0])) })
    }

    /// Whether both can make the same path, as far as the shorter one reaches.
    func meetsAsFarAs(_ other: PathPattern) -> Bool {
        // The last names, or fixed names, almost always decide.
        (0..<min(names.count, other.names.count)).reversed().allSatisfy { number in
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

    /// Whether some text matches both `a` and `b`.
    private static func meet(_ a: [Token], _ b: [Token]) -> Bool {
        var front = 0
        while front < a.count, front < b.count, case .one(let mine) = a[front], case .one(let theirs) = b[front] {
            guard mine.meets(theirs) else { return false }
            front += 1
        }
        return meetAnywhere(Array(a[front...]), Array(b[front...]))
    }

    private static func meetAnywhere(_ a: [Token], _ b: [Token]) -> Bool {
        // reached[j]: the tokens of `a` so far and the first j tokens of `b` can match the same text.
        var reached = [Bool](repeating: false, count: b.count + 1)
        reached[0] = true
        spread(&reached, over: b)
        for token in a {
            var next = [Bool](repeating: false, count: b.count + 1)
            for j in 0...b.count where reached[j] {
                switch token {
                case .many(let set):
                    next[j] = true
                    // It takes tokens of `b` as long as they fit.
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

    /// A `.many` may match nothing.
    private static func spread(_ reached: inout [Bool], over b: [Token]) {
        for j in 0..<b.count where reached[j] {
            if case .many = b[j] { reached[j + 1] = true }
        }
    }
}
