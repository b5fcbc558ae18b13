import Events

/// Ensures that different values in a template never make the same path, and that the longest value fits into a name.
/// Each name must have a separator from the template between two varying parts, and that separator is never allowed in
/// a value.
enum PathNames {
    /// NAME_MAX of Linux.
    private static let longestName = 255
    /// `.2026-01-31T12-00-00Z.9999`
    private static let rotation = 27
    private static let maximumName = longestName - rotation
    /// The longest output of a strftime(3) conversion.
    private static let longestConversion = 24

    /// One name between two slashes, while the template is read.
    private struct Name {
        var signs: Set<UInt8> = []
        /// The indexes of its values.
        var values: [Int] = []
        var length = 0
        /// A byte that can't occur in a value follows the last varying part.
        var isParted = true
        var endsInValue = false
    }

    /// Throws if the fixed part of a name is too long for the filesystem.
    static func checkLengths(in pieces: [FileDestinationOptions.PathPiece], rotates: Bool) throws {
        let bytes = pieces.flatMap { piece -> [UInt8] in
            guard case .text(let text) = piece else { return [] }
            return PathToken.tokens(of: text).compactMap { if case .literal(let byte) = $0 { byte } else { nil } }
        }
        let names = bytes.split(separator: UInt8(ascii: "/"), omittingEmptySubsequences: false)
        for (number, name) in names.enumerated() {
            let most = rotates && number == names.count - 1 ? maximumName : longestName
            guard name.count > most else { continue }
            throw FileDestinationError(
                "a name has \(name.count) bytes, but at most \(most) are possible"
                    + "\(most == longestName ? "" : " (a rotation adds some)"); shorten it")
        }
        guard bytes.count <= FileRecord.maximumPath else {
            throw FileDestinationError("the path is longer than \(FileRecord.maximumPath) bytes; shorten it")
        }
    }

    /// For each value of the template: the signs that are used as separators in its name.
    static func reserved(in pieces: [FileDestinationOptions.PathPiece]) throws -> [[UInt8]] {
        var names = [Name()]
        var count = 0
        for piece in pieces {
            switch piece {
            case .value(let path):
                try part(&names[names.count - 1], isValue: true, "{{ \(path.segments.joined(separator: ".")) }}")
                names[names.count - 1].values.append(count)
                names[names.count - 1].length += PathValue.maximum
                count += 1
            case .text(let text):
                for token in PathToken.tokens(of: text) {
                    switch token {
                    case .literal(UInt8(ascii: "/")): names.append(Name())
                    case .literal(let byte):
                        names[names.count - 1].length += 1
                        if isSign(byte) {
                            names[names.count - 1].signs.insert(byte)
                            names[names.count - 1].isParted = true
                        } else if !isAlphanumeric(byte), byte != UInt8(ascii: "%"), byte != UInt8(ascii: "~") {
                            names[names.count - 1].isParted = true
                        }
                    case .conversion(let letter, _):
                        try part(&names[names.count - 1], isValue: false, "%\(Character(UnicodeScalar(letter)))")
                        names[names.count - 1].length += longestConversion
                        if letter == UInt8(ascii: "z") { names[names.count - 1].signs.insert(UInt8(ascii: "-")) }
                    }
                }
            }
        }
        guard count > 0 else { return [] }
        var reserved = [[UInt8]](repeating: [], count: count)
        for (index, name) in names.enumerated() {
            guard name.length <= maximumName || name.values.isEmpty else {
                throw FileDestinationError(
                    "a name in \(PathTemplate.pattern(pieces)) can become longer than \(maximumName) bytes"
                        + " (each value may have \(PathValue.maximum)); separate the values with a /")
            }
            let signs = index == names.count - 1 ? name.signs.union([UInt8(ascii: ".")]) : name.signs
            for value in name.values { reserved[value] = signs.sorted() }
        }
        guard names.reduce(0, { $0 + $1.length + 1 }) <= FileRecord.maximumPath else {
            throw FileDestinationError(
                "\(PathTemplate.pattern(pieces)) can become longer than \(FileRecord.maximumPath) bytes; shorten it")
        }
        return reserved
    }

    /// Begins a varying part of a name.
    private static func part(_ name: inout Name, isValue: Bool, _ what: String) throws {
        guard name.isParted || !isValue && !name.endsInValue else {
            throw FileDestinationError(
                "\(what) directly follows another part that varies, so different values can make the same name;"
                    + " put a -, a . or a / before it")
        }
        name.isParted = false
        name.endsInValue = isValue
    }

    private static func isSign(_ byte: UInt8) -> Bool { "-_.".utf8.contains(byte) }

    private static func isAlphanumeric(_ byte: UInt8) -> Bool {
        byte >= UInt8(ascii: "0") && byte <= UInt8(ascii: "9")
            || byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")
    }
}

/// A piece of text, as strftime(3) reads it.
enum PathToken: Equatable {
    case literal(UInt8)
    /// The conversion's letter. Conversions that stand for several others are expanded. With flags or a width, the
    /// output may be shorter or longer than usual.
    case conversion(UInt8, isPlain: Bool)

    static func tokens(of text: String) -> [PathToken] {
        var tokens: [PathToken] = []
        var rest = Array(text.utf8)[...]
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "%") else {
                tokens.append(.literal(byte))
                continue
            }
            let count = rest.count
            rest = rest.drop { "_-^#EO0123456789".utf8.contains($0) }
            let isPlain = rest.count == count
            switch rest.popFirst() {
            case nil: tokens.append(.literal(byte))
            case UInt8(ascii: "%"): tokens.append(.literal(byte))
            case UInt8(ascii: "F"): tokens += self.tokens(of: "%Y-%m-%d")
            case UInt8(ascii: "D"): tokens += self.tokens(of: "%m/%d/%y")
            case UInt8(ascii: "R"): tokens += self.tokens(of: "%H:%M")
            case UInt8(ascii: "T"): tokens += self.tokens(of: "%H:%M:%S")
            case let letter?: tokens.append(.conversion(letter, isPlain: isPlain))
            }
        }
        return tokens
    }
}
