extension String {
    /// The text on one line, with control characters (C0, DEL, C1), the two Unicode line separators and the characters
    /// that change the direction of text escaped as `\n`, `\t`, `\u{1B}`. Terminals, logs and protocols then treat it
    /// as plain text. Apply it to any text from a peer or a service before it is shown.
    package var withControlCharactersEscaped: String {
        guard unicodeScalars.contains(where: Self.isControl) else { return self }
        var text = ""
        for scalar in unicodeScalars {
            switch scalar {
            case "\n": text += "\\n"
            case "\r": text += "\\r"
            case "\t": text += "\\t"
            case _ where Self.isControl(scalar): text += "\\u{\(String(scalar.value, radix: 16, uppercase: true))}"
            default: text.unicodeScalars.append(scalar)
            }
        }
        return text
    }

    /// Whether a terminal takes the character for an instruction.
    static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.value {
        case 0..<0x20, 0x7F...0x9F, 0x2028, 0x2029: true
        // They change the direction of the text that follows (bidirectional controls).
        case 0x061C, 0x200E, 0x200F, 0x202A...0x202E, 0x2066...0x2069: true
        default: false
        }
    }
}
