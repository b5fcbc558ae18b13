import Events

extension FieldPath {
    /// A path as the settings of all plugins write it: `properties.total`, or `$.properties.total`. A backslash
    /// precedes a dot that is part of a name.
    /// - Returns: nil if a name is empty, or if there are too many.
    package init?(written text: some StringProtocol) {
        var segments = [""]
        var isEscaped = false
        for character in text.hasPrefix("$.") ? text.dropFirst(2) : text[...] {
            if isEscaped || character != "\\" && character != "." {
                segments[segments.count - 1].append(character)
                isEscaped = false
            } else if character == "\\" {
                isEscaped = true
            } else {
                segments.append("")
            }
        }
        guard !isEscaped, !segments.contains(""), segments.count <= FieldPath.maximumSegments else { return nil }
        self.init(segments)
    }
}
