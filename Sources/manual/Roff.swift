/// Builds the text of a page in man(7), line by line.
struct Roff: PageWriter {
    private(set) var text = ""

    init(title: String, section: Int, version: String) {
        // Without a date, so that the same sources always produce the same page.
        line(".TH \(title.uppercased()) \(section) \"\" \"penstock \(Self.escape(version))\" \"Penstock\"")
        // No hyphenation and no justification, so that paths and keys are not broken or stretched.
        line(".nh")
        line(".ad l")
    }

    mutating func section(_ name: String) { line(".SH \(Self.quoted(name))") }
    mutating func subsection(_ name: String) { line(".SS \(Self.quoted(name))") }

    /// Appends paragraphs, which empty lines separate in `words`.
    mutating func prose(_ words: String) {
        for paragraph in words.split(separator: "\n\n") {
            line(".PP")
            body(String(paragraph))
        }
    }

    /// Appends a term in bold, its argument in italics, and its meaning.
    mutating func item(_ term: String, _ argument: String, _ words: String) {
        line(".TP")
        line("\\fB\(Self.escape(term))\\fR" + (argument.isEmpty ? "" : " \\fI\(Self.escape(argument))\\fR"))
        body(words)
    }

    /// Appends indented lines without filling.
    mutating func example(_ lines: String) {
        line(".PP")
        line(".nf")
        line(".RS 4")
        for one in lines.split(separator: "\n", omittingEmptySubsequences: false) { body(String(one)) }
        line(".RE")
        line(".fi")
    }

    private mutating func body(_ words: String) {
        let escaped = words.split(separator: "\n", omittingEmptySubsequences: false).map { words in
            let text = Self.escape(String(words))
            return text.hasPrefix(".") || text.hasPrefix("'") ? "\\&" + text : text
        }
        line(escaped.joined(separator: "\n"))
    }

    private mutating func line(_ text: String) { self.text += text + "\n" }

    private static func quoted(_ text: String) -> String { "\"\(escape(text).replacing("\"", with: "\\(dq"))\"" }

    private static func escape(_ text: String) -> String {
        var escaped = ""
        for character in text.unicodeScalars {
            switch character {
            case "\\": escaped += "\\e"
            case "-": escaped += "\\-"
            case "^": escaped += "\\(ha"
            case "~": escaped += "\\(ti"
            case "`": escaped += "\\(ga"
            case "'": escaped += "\\(aq"
            default:
                if character.isASCII {
                    escaped.unicodeScalars.append(character)
                } else {
                    escaped +=
                        "\\[u" + String(repeating: "0", count: max(0, 4 - String(character.value, radix: 16).count))
                        + String(character.value, radix: 16, uppercase: true) + "]"
                }
            }
        }
        return escaped
    }
}
