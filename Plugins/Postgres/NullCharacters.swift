import Events

/// U+0000 in JSON: the escape `\u0000`. PostgreSQL cannot store it in a text or jsonb.
enum NullCharacters {
    /// Fast, because few events have a backslash.
    static func occur(in json: Span<UInt8>) -> Bool { next(in: json, from: 0) != nil }

    /// The JSON with U+FFFD, the replacement character, in place of each U+0000.
    static func replaced(in json: Span<UInt8>) -> [UInt8] {
        var result: [UInt8] = []
        result.append(contentsOf: json)
        var at = 0
        while let found = next(in: json, from: at) {
            for index in found + 2..<found + 5 { result[index] = UInt8(ascii: "f") }
            result[found + 5] = UInt8(ascii: "d")
            at = found + 6
        }
        return result
    }

    /// The index of the next escape's backslash.
    private static func next(in json: Span<UInt8>, from start: Int) -> Int? {
        var at = start
        while at < json.count, let found = json.firstIndex(of: UInt8(ascii: "\\"), in: at..<json.count) {
            if found + 6 <= json.count, json[found + 1] == UInt8(ascii: "u"),
                (found + 2..<found + 6).allSatisfy({ json[$0] == UInt8(ascii: "0") })
            {
                return found
            }
            at = found + 2
        }
        return nil
    }
}
