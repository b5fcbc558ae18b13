import Events

/// Checks that a text is one JSON value, and copies it without white space between tokens. A line feed must not remain,
/// because it would end the event in the output.
struct JSONCompactor: ~Escapable {
    /// Levels of nested lists and objects.
    static let maximumDepth = 64

    private let text: Span<UInt8>
    private var position = 0
    private var scratch: [UInt8] = []

    /// - Parameter text: valid UTF-8.
    /// - Returns: false if the text is not JSON or is nested too deeply; `output` is then unchanged.
    static func append(_ text: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        var compactor = JSONCompactor(text)
        let start = output.count
        guard compactor.value(depth: 0, to: &output), compactor.isAtEnd else {
            output.removeLast(output.count - start)
            return false
        }
        return true
    }

    @_lifetime(copy text)
    private init(_ text: Span<UInt8>) { self.text = text }

    private var isAtEnd: Bool {
        @_lifetime(self: copy self)
        mutating get {
            skipSpace()
            return position == text.count
        }
    }

    @_lifetime(self: copy self)
    private mutating func skipSpace() {
        while position < text.count, JSONMembers.isSpace(text[position]) { position += 1 }
    }

    @_lifetime(self: copy self)
    private mutating func take(_ byte: UInt8, to output: inout [UInt8]) -> Bool {
        skipSpace()
        guard position < text.count, text[position] == byte else { return false }
        position += 1
        output.append(byte)
        return true
    }

    @_lifetime(self: copy self)
    private mutating func value(depth: Int, to output: inout [UInt8]) -> Bool {
        skipSpace()
        guard position < text.count else { return false }
        switch text[position] {
        case UInt8(ascii: "{"): return depth < Self.maximumDepth && container(depth, isObject: true, to: &output)
        case UInt8(ascii: "["): return depth < Self.maximumDepth && container(depth, isObject: false, to: &output)
        case UInt8(ascii: "\""): return string(to: &output)
        default: return word(to: &output)
        }
    }

    @_lifetime(self: copy self)
    private mutating func container(_ depth: Int, isObject: Bool, to output: inout [UInt8]) -> Bool {
        let end = UInt8(ascii: isObject ? "}" : "]")
        output.append(text[position])
        position += 1
        if take(end, to: &output) { return true }
        repeat {
            if isObject {
                skipSpace()
                guard position < text.count, text[position] == UInt8(ascii: "\""), string(to: &output),
                    take(UInt8(ascii: ":"), to: &output)
                else { return false }
            }
            guard value(depth: depth + 1, to: &output) else { return false }
        } while take(UInt8(ascii: ","), to: &output)
        return take(end, to: &output)
    }

    @_lifetime(self: copy self)
    private mutating func string(to output: inout [UInt8]) -> Bool {
        let start = position
        position += 1
        var isEscaped = false
        while position < text.count, text[position] != UInt8(ascii: "\"") {
            guard text[position] >= 0x20 else { return false }
            if text[position] == UInt8(ascii: "\\") {
                isEscaped = true
                position += 1
            }
            position += 1
        }
        guard position < text.count else { return false }
        position += 1
        scratch.removeAll(keepingCapacity: true)
        guard !isEscaped || JSONText.unescape(text.extracting(start + 1..<position - 1), into: &scratch) else {
            return false
        }
        output.append(contentsOf: text.extracting(start..<position))
        return true
    }

    /// Copies a number, `true`, `false` or `null`.
    @_lifetime(self: copy self)
    private mutating func word(to output: inout [UInt8]) -> Bool {
        let start = position
        while position < text.count, !Self.endsWord(text[position]) { position += 1 }
        let word = text.extracting(start..<position)
        guard Self.names.contains(where: { $0.span.hasBytes(of: word) }) || JSONNumber(word) != nil else {
            return false
        }
        output.append(contentsOf: word)
        return true
    }

    private static let names = ["true", "false", "null"].map { Array($0.utf8) }

    private static func endsWord(_ byte: UInt8) -> Bool {
        byte <= 0x20 || byte == UInt8(ascii: ",") || byte == UInt8(ascii: "]") || byte == UInt8(ascii: "}")
    }
}
