import Events

/// Copies an object without some of its top-level fields.
struct RemainingFields {
    /// Decoded names.
    let without: [[UInt8]]

    init(without names: [String]) { without = names.map { Array($0.utf8) } }

    /// Appends the object's other fields as a JSON object. Another value is appended as it is.
    /// - Parameter json: valid JSON. Of a text that is not, something that PostgreSQL rejects is appended.
    /// - Returns: false if no field is left, and then nothing is appended.
    func append(_ json: Span<UInt8>, to output: inout [UInt8]) -> Bool {
        var at = Self.skipBlanks(json, 0)
        guard at < json.count, json[at] == UInt8(ascii: "{") else {
            output.append(contentsOf: json)
            return true
        }
        let start = output.count
        at = Self.skipBlanks(json, at + 1)
        if at < json.count, json[at] == UInt8(ascii: "}") { return false }
        while at < json.count, json[at] == UInt8(ascii: "\"") {
            let key = at
            let name = at + 1..<Self.endOfString(json, at)
            at = Self.endOfValue(json, name.upperBound + 1)
            if !isLeftOut(json.extracting(name)) {
                output.append(output.count == start ? UInt8(ascii: "{") : UInt8(ascii: ","))
                output.append(contentsOf: json.extracting(key..<at))
            }
            guard at < json.count, json[at] == UInt8(ascii: ",") else { break }
            at = Self.skipBlanks(json, at + 1)
        }
        guard at < json.count, json[at] == UInt8(ascii: "}") else {
            output.removeLast(output.count - start)
            output.append(contentsOf: json)
            return true
        }
        if output.count == start { return false }
        output.append(UInt8(ascii: "}"))
        return true
    }

    private func isLeftOut(_ name: Span<UInt8>) -> Bool {
        guard name.firstIndex(of: UInt8(ascii: "\\"), in: 0..<name.count) != nil else {
            return without.contains { $0.span.hasBytes(of: name) }
        }
        var decoded: [UInt8] = []
        return JSONText.unescape(name, into: &decoded) && without.contains(decoded)
    }

    private static func skipBlanks(_ json: Span<UInt8>, _ start: Int) -> Int {
        var at = start
        while at < json.count, json[at] <= 0x20 { at += 1 }
        return at
    }

    /// The index of the closing quote.
    private static func endOfString(_ json: Span<UInt8>, _ quote: Int) -> Int {
        var at = quote + 1
        while at < json.count, json[at] != UInt8(ascii: "\"") { at += json[at] == UInt8(ascii: "\\") ? 2 : 1 }
        return min(at, json.count)
    }

    /// The index of the comma or brace after a member's value.
    /// - Parameter start: behind the member's name.
    private static func endOfValue(_ json: Span<UInt8>, _ start: Int) -> Int {
        var at = min(start, json.count)
        var depth = 0
        while at < json.count {
            switch json[at] {
            case UInt8(ascii: "\""): at = endOfString(json, at)
            case UInt8(ascii: "{"), UInt8(ascii: "["): depth += 1
            case UInt8(ascii: "}"), UInt8(ascii: "]"):
                if depth == 0 { return at }
                depth -= 1
            case UInt8(ascii: ","):
                if depth == 0 { return at }
            default: break
            }
            at += 1
        }
        return json.count
    }
}
