#if canImport(FoundationEssentials)
    import FoundationEssentials
#else
    import Foundation
#endif

/// Reads values from a line that `JSONWriter` wrote: no whitespace between tokens, and keys escaped in the writer's
/// way. Any other input yields nil and never a trap.
struct JSONReader {
    let json: [UInt8]
    private(set) var position: Int

    /// The maximum nesting depth. The writer's limit is lower.
    private static let depthLimit = 128

    init(_ json: [UInt8], at position: Int = 0) {
        self.json = json
        self.position = position
    }

    /// Reads a complete JSON value.
    static func value(of json: [UInt8]) -> PropertyValue? {
        var reader = JSONReader(json)
        return reader.value()
    }

    /// Finds a member of the object that begins at `object`.
    /// - Parameter key: The key as JSON, including quotes.
    /// - Returns: The range of the member and the range of its value; nil if there is no such member.
    static func member(_ key: [UInt8], of object: Int, in json: [UInt8]) -> (member: Range<Int>, value: Range<Int>)? {
        var reader = JSONReader(json, at: object)
        guard reader.take("{") else { return nil }
        while let (name, value) = reader.member() {
            if json[name] == key[...] { return (name.lowerBound..<value.upperBound, value) }
            guard reader.take(",") else { return nil }
        }
        return nil
    }

    /// Skips a member, and returns the ranges of its key, including quotes, and of its value.
    mutating func member() -> (key: Range<Int>, value: Range<Int>)? {
        let key = position
        guard peek == UInt8(ascii: "\""), skipString() else { return nil }
        let keyEnd = position
        guard take(":") else { return nil }
        let value = position
        guard skipValue() else { return nil }
        return (key..<keyEnd, value..<position)
    }

    mutating func take(_ character: Unicode.Scalar) -> Bool {
        guard peek == UInt8(ascii: character) else { return false }
        position += 1
        return true
    }

    var peek: UInt8? { position < json.count ? json[position] : nil }

    /// Skips a value without decoding it.
    mutating func skipValue() -> Bool {
        let start = position
        var depth = 0
        repeat {
            switch peek {
            case UInt8(ascii: "\""):
                guard skipString() else { return false }
            case UInt8(ascii: "{"), UInt8(ascii: "["):
                depth += 1
                position += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                // The end of the enclosing object or array.
                if depth == 0 { return position > start }
                depth -= 1
                position += 1
            case UInt8(ascii: ","), UInt8(ascii: ":"):
                if depth == 0 { return position > start }
                position += 1
            case nil: return false
            default: skipToken()
            }
        } while depth > 0
        return true
    }

    private mutating func skipToken() {
        while let byte = peek, byte != UInt8(ascii: ","), byte != UInt8(ascii: "}"), byte != UInt8(ascii: "]") {
            position += 1
        }
    }

    private mutating func skipString() -> Bool {
        guard let end = endOfString() else { return false }
        position = end
        return true
    }

    private func endOfString() -> Int? {
        let text = json.span
        var end = position + 1
        while end < text.count {
            let byte = text[end]
            end += byte == UInt8(ascii: "\\") ? 2 : 1
            if byte == UInt8(ascii: "\"") { return end }
        }
        return nil
    }

    mutating func value(depth: Int = 0) -> PropertyValue? {
        guard depth < Self.depthLimit else { return nil }
        switch peek {
        case UInt8(ascii: "\""): return string().map { .string($0) }
        case UInt8(ascii: "{"): return object(depth: depth)
        case UInt8(ascii: "["): return array(depth: depth)
        default:
            let start = position
            skipToken()
            return Self.token(String(decoding: json[start..<position], as: UTF8.self))
        }
    }

    private mutating func object(depth: Int) -> PropertyValue? {
        position += 1
        var members: [String: PropertyValue] = [:]
        if take("}") { return .dictionary(members) }
        repeat {
            guard peek == UInt8(ascii: "\""), let key = string(), take(":"), let value = value(depth: depth + 1) else {
                return nil
            }
            members[key] = value
        } while take(",")
        return take("}") ? .dictionary(members) : nil
    }

    private mutating func array(depth: Int) -> PropertyValue? {
        position += 1
        var values: [PropertyValue] = []
        if take("]") { return .array(values) }
        repeat {
            guard let value = value(depth: depth + 1) else { return nil }
            values.append(value)
        } while take(",")
        return take("]") ? .array(values) : nil
    }

    private mutating func string() -> String? {
        let start = position
        guard skipString(), position <= json.count else { return nil }
        let contents = json[start + 1..<position - 1]
        guard contents.contains(UInt8(ascii: "\\")) else { return String(decoding: contents, as: UTF8.self) }
        return Self.unescaped(contents)
    }

    private static func unescaped(_ contents: ArraySlice<UInt8>) -> String? {
        var output: [UInt8] = []
        var rest = contents
        while let byte = rest.popFirst() {
            guard byte == UInt8(ascii: "\\") else {
                output.append(byte)
                continue
            }
            switch rest.popFirst() {
            case UInt8(ascii: "b"): output.append(0x08)
            case UInt8(ascii: "t"): output.append(0x09)
            case UInt8(ascii: "n"): output.append(0x0A)
            case UInt8(ascii: "f"): output.append(0x0C)
            case UInt8(ascii: "r"): output.append(0x0D)
            // The writer uses this escape only for characters below U+0020.
            case UInt8(ascii: "u"):
                guard let code = UInt8(String(decoding: rest.prefix(4), as: UTF8.self), radix: 16), code < 0x80 else {
                    return nil
                }
                output.append(code)
                rest = rest.dropFirst(4)
            case let byte?: output.append(byte)
            case nil: return nil
            }
        }
        return String(decoding: output, as: UTF8.self)
    }

    private static func token(_ text: String) -> PropertyValue? {
        switch text {
        case "null": return .null
        case "true": return .bool(true)
        case "false": return .bool(false)
        default:
            if let integer = Int(text) { return .int(integer) }
            guard let double = Double(text) else { return nil }
            if double.description == text { return .double(double) }
            return Decimal(string: text).map { .decimal($0) } ?? .double(double)
        }
    }
}
