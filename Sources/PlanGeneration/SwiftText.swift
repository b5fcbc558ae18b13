/// Swift source text while it is written.
struct SwiftText {
    private(set) var text = ""
    private var depth = 0

    mutating func line(_ line: String = "") {
        text += line.isEmpty ? "\n" : String(repeating: "    ", count: depth) + line + "\n"
    }

    /// `head {`, what `body` writes, and `}`.
    mutating func block(_ head: String, _ body: (inout SwiftText) -> Void) {
        line(head + " {")
        depth += 1
        body(&self)
        depth -= 1
        line("}")
    }

    mutating func indented(_ body: (inout SwiftText) -> Void) {
        depth += 1
        body(&self)
        depth -= 1
    }

    /// Documentation: paragraphs of any number of lines.
    mutating func documentation(_ paragraphs: [String]) {
        for (number, paragraph) in paragraphs.enumerated() {
            if number > 0 { line("///") }
            for text in paragraph.split(whereSeparator: \.isNewline) { line("/// " + Self.harmless(String(text))) }
        }
    }

    mutating func availability(_ deprecation: String??) {
        guard let deprecation else { return }
        line("@available(*, deprecated" + (deprecation.map { ", message: \(Self.literal($0))" } ?? "") + ")")
    }

    /// A string literal.
    static func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": literal += "\\\(scalar)"
            default: if isPrintable(scalar) { literal.unicodeScalars.append(scalar) } else { literal += "\\u{\(String(scalar.value, radix: 16))}" }
            }
        }
        return literal + "\""
    }

    /// On one line of a comment.
    static func harmless(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { line.append(isPrintable(scalar) ? scalar : " ") }
        return String(line)
    }

    /// Neither a control character, nor a line's end of any kind, nor one that makes text read otherwise
    /// than the compiler does.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .format, .surrogate, .unassigned, .privateUse: false
        default: true
        }
    }
}
