/// Explains how YAML misreads some filters that are not quoted.
package enum FilterQuoting {
    package static let hint = """
        YAML needs quotes around a filter that starts with \"!\", a quote or \"[\", or holds \": \" or \" #\": \
        where: '…', or a block scalar: where: >-
        """

    package static func concerns(_ line: String) -> Bool { line.contains("where:") }

    /// Whether YAML took the text after ` #` for a comment. The user may have meant it as part of the filter.
    package static func cutOff(_ node: YAMLNode) -> Bool {
        guard let scalar = node.scalar, scalar.isPlain else { return false }
        var rest = String.UnicodeScalarView()
        rest.append(contentsOf: node.place.text.unicodeScalars.dropFirst(max(0, scalar.column - 2)))
        return String(rest).contains(" #")
    }
}
