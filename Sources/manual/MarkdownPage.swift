/// Builds the text of a page of the book in Markdown.
struct MarkdownPage: PageWriter {
    private static let columns = 120

    private(set) var text: String
    /// Items of one list follow each other without an empty line.
    private var isInList = false

    /// - Parameter summary: one sentence, which stands below the title.
    init(title: String, summary: String) {
        text = "# \(title)\n\n\(summary)\n"
    }

    mutating func section(_ name: String) { append("## \(name)\n") }
    mutating func subsection(_ name: String) { append("### \(name)\n") }

    mutating func prose(_ words: String) {
        for paragraph in words.split(separator: "\n\n") {
            append(Self.filled(String(paragraph), indentation: 0) + "\n")
        }
    }

    mutating func item(_ term: String, _ argument: String, _ words: String) {
        if !isInList { text += "\n" }
        isInList = true
        let argument = argument.isEmpty ? "" : " *\(Self.escaped(argument))*"
        text += Self.filled("- `\(term)`\(argument): \(Self.escaped(words))", indentation: 2) + "\n"
    }

    mutating func example(_ lines: String) { append("```yaml\n\(lines)\n```\n") }

    private mutating func append(_ block: String) {
        isInList = false
        text += "\n" + block
    }

    private static func escaped(_ words: String) -> String {
        words.replacing("*", with: "\\*").replacing("<", with: "\\<").replacing("_", with: "\\_")
    }

    /// Breaks a paragraph into lines; those after the first are indented.
    private static func filled(_ words: String, indentation: Int) -> String {
        var lines: [String] = []
        var line = ""
        for word in words.split(whereSeparator: { $0 == " " || $0 == "\n" }) {
            if !line.isEmpty, line.count + 1 + word.count > columns {
                lines.append(line)
                line = String(repeating: " ", count: indentation) + word
            } else {
                line += line.isEmpty ? String(word) : " \(word)"
            }
        }
        return (lines + [line]).joined(separator: "\n")
    }
}
