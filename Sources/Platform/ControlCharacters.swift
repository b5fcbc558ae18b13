extension String {
    /// The text on one line, with control characters (C0, DEL, C1) and the two Unicode line separators escaped as `\n`,
    /// `\t`, `\u{1B}`. Terminals, logs and protocols then treat it as plain text. Apply it to any text from a peer or a
    /// service before it is shown.
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

    private static func isControl(_ scalar: Unicode.Scalar) -> Bool {
        scalar.value < 0x20 || 0x7F...0x9F ~= scalar.value || scalar.value == 0x2028 || scalar.value == 0x2029
    }
}
