/// Makes foreign text safe for a log, a terminal or a status line.
enum Printable {
    /// The text as one line of at most `limit` Unicode scalars, without control, format or unassigned characters. Each
    /// run of white space becomes one space.
    static func line(_ text: String, limit: Int) -> String {
        var line = String.UnicodeScalarView()
        var count = 0
        var blank = false
        for scalar in text.unicodeScalars {
            switch scalar.properties.generalCategory {
            case .control, .format, .surrogate, .privateUse, .unassigned, .spaceSeparator, .lineSeparator,
                .paragraphSeparator:
                blank = count > 0
            default:
                if blank && count + 1 < limit {
                    line.append(" ")
                    count += 1
                }
                blank = false
                if count == limit { return String(line) }
                line.append(scalar)
                count += 1
            }
        }
        return String(line)
    }
}
