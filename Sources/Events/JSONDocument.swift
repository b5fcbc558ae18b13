/// A JSON text as a tree, each value with its range in the text. Use it only for texts of bounded size where speed does
/// not matter: responses of services, JSON inside a string, events that people look at, settings of plugins. simdjson
/// reads all other JSON.
package struct JSONDocument: Sendable {
    package indirect enum Value: Sendable {
        /// In the order written. A name's bytes are as written, with escapes.
        case object([(name: [UInt8], value: JSONDocument)])
        case array([JSONDocument])
        /// The range of the contents, with escapes left as they are.
        case string(Range<Int>)
        case number
        case bool(Bool)
        case null
        /// An object or array that is nested deeper than the document's limit. It was not checked.
        case tooDeep
    }

    package var value: Value
    /// The range of the value's text.
    package var range: Range<Int>

    /// - Parameter maximumDepth: levels of nesting; it keeps malicious texts from overflowing the stack.
    /// - Returns: nil unless the text is exactly one JSON value, with white space around it.
    package init?(_ text: [UInt8], maximumDepth: Int) {
        var reader = Reader(text: text, maximumDepth: maximumDepth)
        guard let whole = reader.value(depth: 0) else { return nil }
        reader.skipBlanks()
        guard reader.next == text.count else { return nil }
        self = whole
    }

    private init(_ value: Value, _ range: Range<Int>) {
        self.value = value
        self.range = range
    }

    /// A member of an object, or an item of an array by its index.
    package func member(_ name: [UInt8]) -> JSONDocument? {
        switch value {
        case .object(let members): members.last { $0.name == name }?.value
        case .array(let items):
            Int(String(decoding: name, as: UTF8.self)).flatMap { items.indices.contains($0) ? items[$0] : nil }
        default: nil
        }
    }

    /// The direct children.
    package var children: [JSONDocument] {
        switch value {
        case .object(let members): members.map(\.value)
        case .array(let items): items
        default: []
        }
    }

    /// The text of a string, the digits of a number, `true`, `false` or `null`; nil for an object or array.
    package func scalar(in text: [UInt8]) -> String? {
        switch value {
        case .string(let contents): JSONText.string(text.span.extracting(contents))
        case .number, .bool, .null: String(decoding: text[range], as: UTF8.self)
        case .object, .array, .tooDeep: nil
        }
    }

    /// Appends the text without white space between tokens.
    /// - Parameter text: the text that the document was made from.
    /// - Returns: false if a string has an invalid escape, or a value is nested too deeply; `output` is then unchanged.
    package func appendCompact(from text: [UInt8], to output: inout [UInt8]) -> Bool {
        let start = output.count
        var unescaped: [UInt8] = []
        if appendCompact(from: text.span, &unescaped, to: &output) { return true }
        output.removeLast(output.count - start)
        return false
    }

    private func appendCompact(from text: Span<UInt8>, _ scratch: inout [UInt8], to output: inout [UInt8]) -> Bool {
        switch value {
        case .tooDeep: return false
        case .number, .bool, .null: output.append(contentsOf: text.extracting(range))
        case .string(let contents):
            guard Self.isValid(text.extracting(contents), &scratch) else { return false }
            output.append(contentsOf: text.extracting(range))
        case .array(let items):
            output.append(UInt8(ascii: "["))
            for (index, item) in items.enumerated() {
                if index > 0 { output.append(UInt8(ascii: ",")) }
                guard item.appendCompact(from: text, &scratch, to: &output) else { return false }
            }
            output.append(UInt8(ascii: "]"))
        case .object(let members):
            output.append(UInt8(ascii: "{"))
            for (index, member) in members.enumerated() {
                guard Self.isValid(member.name.span, &scratch) else { return false }
                output.append(contentsOf: index > 0 ? [UInt8(ascii: ","), UInt8(ascii: "\"")] : [UInt8(ascii: "\"")])
                output += member.name
                output += [UInt8(ascii: "\""), UInt8(ascii: ":")]
                guard member.value.appendCompact(from: text, &scratch, to: &output) else { return false }
            }
            output.append(UInt8(ascii: "}"))
        }
        return true
    }

    /// Whether all escapes in a string's contents are valid.
    private static func isValid(_ contents: Span<UInt8>, _ scratch: inout [UInt8]) -> Bool {
        scratch.removeAll(keepingCapacity: true)
        return JSONText.unescape(contents, into: &scratch)
    }

    private struct Reader {
        let text: [UInt8]
        let maximumDepth: Int
        var next = 0

        init(text: [UInt8], maximumDepth: Int) {
            self.text = text
            self.maximumDepth = maximumDepth
        }

        private var byte: UInt8? { next < text.count ? text[next] : nil }

        mutating func skipBlanks() {
            while let byte, byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09 { next += 1 }
        }

        mutating func value(depth: Int) -> JSONDocument? {
            skipBlanks()
            let start = next
            let value: Value?
            switch byte {
            case UInt8(ascii: "{") where depth < maximumDepth: value = object(depth)
            case UInt8(ascii: "[") where depth < maximumDepth: value = array(depth)
            case UInt8(ascii: "{"), UInt8(ascii: "["): value = skipContainer() ? .tooDeep : nil
            case UInt8(ascii: "\""): value = string().map { .string($0) }
            default: value = literal()
            }
            return value.map { JSONDocument($0, start..<next) }
        }

        private mutating func object(_ depth: Int) -> Value? {
            next += 1
            var members: [(name: [UInt8], value: JSONDocument)] = []
            skipBlanks()
            if take("}") { return .object(members) }
            repeat {
                skipBlanks()
                guard byte == UInt8(ascii: "\""), let name = string() else { return nil }
                skipBlanks()
                guard take(":"), let value = value(depth: depth + 1) else { return nil }
                members.append((Array(text[name]), value))
                skipBlanks()
            } while take(",")
            return take("}") ? .object(members) : nil
        }

        private mutating func array(_ depth: Int) -> Value? {
            next += 1
            var items: [JSONDocument] = []
            skipBlanks()
            if take("]") { return .array(items) }
            repeat {
                guard let item = value(depth: depth + 1) else { return nil }
                items.append(item)
                skipBlanks()
            } while take(",")
            return take("]") ? .array(items) : nil
        }

        /// - Returns: the range of the contents.
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

        private mutating func literal() -> Value? {
            let start = next
            while let byte, byte > 0x20, !",]}:\"".utf8.contains(byte) { next += 1 }
            let word = String(decoding: text[start..<next], as: UTF8.self)
            switch word {
            case "true": return .bool(true)
            case "false": return .bool(false)
            case "null": return .null
            default: return JSONNumber(word) != nil ? .number : nil
            }
        }

        /// Passes over an object or array without looking at more than its brackets and strings.
        private mutating func skipContainer() -> Bool {
            var depth = 0
            repeat {
                switch byte {
                case nil: return false
                case UInt8(ascii: "\""):
                    if string() == nil { return false }
                    continue
                case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
                case UInt8(ascii: "}"), UInt8(ascii: "]"): depth -= 1
                default: break
                }
                next += 1
            } while depth > 0
            return true
        }

        private mutating func take(_ character: Unicode.Scalar) -> Bool {
            guard byte == UInt8(ascii: character) else { return false }
            next += 1
            return true
        }
    }
}
