/// Swift source text under construction.
struct SwiftText {
    private(set) var text = ""
    private var depth = 0

    mutating func line(_ line: String = "") {
        text += line.isEmpty ? "\n" : String(repeating: "    ", count: depth) + line + "\n"
    }

    /// Writes `head {`, the output of `body`, and `}`.
    mutating func block(_ head: String, _ body: (inout SwiftText) -> Void) {
        line(head + " {")
        depth += 1
        body(&self)
        depth -= 1
        line("}")
    }

    /// Writes `head`, a list and `tail`: on one line, or with one line for each item if the line would be too long.
    mutating func call(_ head: String, _ list: [String], _ tail: String) {
        let whole = head + list.joined(separator: ", ") + tail
        guard whole.count + 4 * depth > 120, list.count > 1 else { return line(whole) }
        line(head)
        indented { text in
            for (number, item) in list.enumerated() { text.line(item + (number + 1 < list.count ? "," : "")) }
        }
        line(tail)
    }

    mutating func indented(_ body: (inout SwiftText) -> Void) {
        depth += 1
        body(&self)
        depth -= 1
    }

    /// Writes documentation: paragraphs of one or more lines.
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

    /// A Swift string literal.
    static func literal(_ text: String) -> String {
        var literal = "\""
        for scalar in text.unicodeScalars {
            switch scalar {
            case "\"", "\\": literal += "\\\(scalar)"
            default:
                if isPrintable(scalar) {
                    literal.unicodeScalars.append(scalar)
                } else {
                    literal += "\\u{\(String(scalar.value, radix: 16))}"
                }
            }
        }
        return literal + "\""
    }

    /// Text that is safe on one line of a comment.
    static func harmless(_ text: String) -> String {
        var line = String.UnicodeScalarView()
        for scalar in text.unicodeScalars { line.append(isPrintable(scalar) ? scalar : " ") }
        return String(line)
    }

    /// False for control characters, for line ends of any kind, and for characters that make text look different from
    /// what the compiler reads.
    private static func isPrintable(_ scalar: Unicode.Scalar) -> Bool {
        switch scalar.properties.generalCategory {
        case .control, .lineSeparator, .paragraphSeparator, .format, .surrogate, .unassigned, .privateUse: false
        default: true
        }
    }
}
