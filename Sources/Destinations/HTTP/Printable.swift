/// Foreign text on its way to a log, a terminal or a status line.
enum Printable {
    /// One line without control, format or unassigned characters, runs of white space made one
    /// space, at most `limit` characters (Unicode scalars).
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
