/// YAML has its own idea of what some filters mean; this is what to tell whoever met it.
package enum FilterQuoting {
    package static let hint = """
        YAML needs quotes around a filter that starts with \"!\", a quote or \"[\", or holds \": \" or \" #\": \
        where: '…', or a block scalar: where: >-
        """

    package static func concerns(_ line: String) -> Bool { line.contains("where:") }

    /// YAML took what follows ` #` for a comment, though it may have been meant.
    package static func cutOff(_ node: YAMLNode) -> Bool {
        guard let scalar = node.scalar, scalar.isPlain else { return false }
        var rest = String.UnicodeScalarView()
        rest.append(contentsOf: node.place.text.unicodeScalars.dropFirst(max(0, scalar.column - 2)))
        return String(rest).contains(" #")
    }
}
