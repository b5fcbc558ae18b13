/// JSON text for a terminal: an event may hold characters that a terminal takes for instructions.
package enum TerminalJSON {
    /// The same JSON value, with such characters as escapes (`\u009b`). They occur only in strings, because JSON allows
    /// no others.
    package static func escaped(_ json: [UInt8]) -> [UInt8] {
        guard json.contains(where: { $0 >= 0x7F }) else { return json }
        var text: [UInt8] = []
        text.reserveCapacity(json.count)
        for scalar in String(decoding: json, as: UTF8.self).unicodeScalars {
            if scalar.value >= 0x7F, String.isControl(scalar) {
                let digits = String(scalar.value, radix: 16)
                text += Array("\\u\(String(repeating: "0", count: 4 - digits.count))\(digits)".utf8)
            } else {
                text += Array(String(scalar).utf8)
            }
        }
        return text
    }
}
