import Events

/// A service's answer as a tree, each value with its place in the text. For texts of bounded size that
/// nobody has to read fast: answers, and events whose items are lines; others are read with Events' simdjson.
struct AnswerJSON {
    indirect enum Value {
        /// In the order written.
        case object([(key: [UInt8], value: AnswerJSON)])
        case array([AnswerJSON])
        /// Its contents, escapes and all.
        case string(Range<Int>)
        case number
        case bool(Bool)
        case null
    }

    var value: Value
    /// The whole value's text.
    var range: Range<Int>

    /// nil: not one JSON value with blanks around it, or nested deeper than anybody answers.
    init?(_ text: [UInt8]) {
        var reader = Reader(text: text)
        guard let whole = reader.value(depth: 0) else { return nil }
        reader.skipBlanks()
        guard reader.next == text.count else { return nil }
        self = whole
    }

    private init(_ value: Value, _ range: Range<Int>) {
        self.value = value
        self.range = range
    }

    /// A member of an object, or an item of an array by its number.
    func member(_ name: [UInt8]) -> AnswerJSON? {
        switch value {
        case .object(let members): members.last { $0.key == name }?.value
        case .array(let items): Int(String(decoding: name, as: UTF8.self)).flatMap { items.indices.contains($0) ? items[$0] : nil }
        default: nil
        }
    }

    /// What is directly below it.
    var children: [AnswerJSON] {
        switch value {
        case .object(let members): members.map(\.value)
        case .array(let items): items
        default: []
        }
    }

    /// Text of a string, digits of a number, `true`, `false`, `null`; nil for what holds others.
    func scalar(in text: [UInt8]) -> String? {
        switch value {
        case .string(let contents): JSONText.string(text.span.extracting(contents))
        case .number, .bool, .null: String(decoding: text[range], as: UTF8.self)
        case .object, .array: nil
        }
    }

    private struct Reader {
        private static let maximumDepth = 64

        let text: [UInt8]
        var next = 0

        private var byte: UInt8? { next < text.count ? text[next] : nil }

        mutating func skipBlanks() {
            while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { next += 1 }
        }

        mutating func value(depth: Int) -> AnswerJSON? {
            guard depth < Self.maximumDepth else { return nil }
            skipBlanks()
            let start = next
            let value: Value?
            switch byte {
            case UInt8(ascii: "{"): value = object(depth)
            case UInt8(ascii: "["): value = array(depth)
            case UInt8(ascii: "\""): value = string().map { .string($0) }
            case UInt8(ascii: "t"): value = word("true") ? .bool(true) : nil
            case UInt8(ascii: "f"): value = word("false") ? .bool(false) : nil
            case UInt8(ascii: "n"): value = word("null") ? .null : nil
            default: value = number() ? .number : nil
            }
            return value.map { AnswerJSON($0, start..<next) }
        }

        private mutating func object(_ depth: Int) -> Value? {
            next += 1
            var members: [(key: [UInt8], value: AnswerJSON)] = []
            skipBlanks()
            if take("}") { return .object(members) }
            repeat {
                skipBlanks()
                guard byte == UInt8(ascii: "\""), let key = string() else { return nil }
                skipBlanks()
                guard take(":"), let value = value(depth: depth + 1) else { return nil }
                members.append((Array(text[key]), value))
                skipBlanks()
            } while take(",")
            return take("}") ? .object(members) : nil
        }

        private mutating func array(_ depth: Int) -> Value? {
            next += 1
            var items: [AnswerJSON] = []
            skipBlanks()
            if take("]") { return .array(items) }
            repeat {
                guard let item = value(depth: depth + 1) else { return nil }
                items.append(item)
                skipBlanks()
            } while take(",")
            return take("]") ? .array(items) : nil
        }

        /// - Returns: where the contents lie.
        private mutating func string() -> Range<Int>? {
            next += 1
            let start = next
            while let byte, byte >= 0x20 {
                if byte == UInt8(ascii: "\"") {
                    next += 1
                    return start..<next - 1
                }
                next += byte == UInt8(ascii: "\\") ? 2 : 1
            }
            return nil
        }

        private mutating func number() -> Bool {
            let start = next
            while let byte, "+-.eE0123456789".utf8.contains(byte) { next += 1 }
            return next > start && Double(String(decoding: text[start..<next], as: UTF8.self)) != nil
        }

        private mutating func word(_ word: StaticString) -> Bool {
            let bytes = Array("\(word)".utf8)
            guard text[next...].starts(with: bytes) else { return false }
            next += bytes.count
            return true
        }

        private mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard byte == UInt8(ascii: character) else { return false }
            next += 1
            return true
        }
    }
}
