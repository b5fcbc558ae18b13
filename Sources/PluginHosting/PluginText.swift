/// Texts that a plugin has written, for logs and terminals.
package enum PluginText {
    /// Without characters that control a terminal or change the order of a line, and cut.
    /// - Parameter lines: whether line feeds stay.
    package static func printable(_ text: String, limit: Int, lines: Bool = false) -> String {
        var result = String.UnicodeScalarView()
        var count = 0
        for scalar in text.unicodeScalars {
            guard count < limit else { return String(result) + "…" }
            count += 1
            switch scalar.properties.generalCategory {
            case .control where lines && scalar == "\n": result.append(scalar)
            case .control, .format, .lineSeparator, .paragraphSeparator, .privateUse, .surrogate: result.append("?")
            default: result.append(scalar)
            }
        }
        return String(result)
    }
}
