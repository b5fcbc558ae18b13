import Platform

/// One line of a screen: pieces of text, each with a style.
package struct ScreenLine: Sendable, Equatable {
    package enum Style: Sendable, Equatable {
        case plain, good, warning, bad, faint, title

        package var colour: ANSIStyle.Colour? {
            switch self {
            case .plain: nil
            case .title: .bold
            case .faint: .dim
            case .good: .green
            case .warning: .yellow
            case .bad: .red
            }
        }
    }

    private var pieces: [(text: String, style: Style)]
    /// Shown in reverse, over its whole width.
    package var isSelected = false

    package init(_ text: String = "", _ style: Style = .plain) { pieces = [(text, style)] }

    package mutating func add(_ text: String, _ style: Style = .plain) { pieces.append((text, style)) }

    package var text: String { pieces.map(\.text).joined() }

    package static func == (left: ScreenLine, right: ScreenLine) -> Bool {
        left.isSelected == right.isSelected && left.pieces.elementsEqual(right.pieces) { $0 == $1 }
    }

    /// The line in at most `width` columns, with its escape sequences.
    package func render(width: Int, _ terminal: ScreenStyle) -> String {
        var result = isSelected ? "\u{1B}[7m" : ""
        var left = width
        for (text, style) in pieces where left > 0 {
            let count = ScreenText.columns(of: text)
            var shown = count <= left ? text : ScreenText.fit(text, left)
            left -= min(count, left)
            if !terminal.isUnicode { shown = ScreenText.ascii(shown) }
            result += terminal.styled(shown, style, isReverse: isSelected)
        }
        if isSelected { result += String(repeating: " ", count: left) + "\u{1B}[0m" }
        return result
    }
}

/// What a terminal can show.
package struct ScreenStyle: Sendable, Equatable {
    package var hasColour: Bool
    package var isUnicode: Bool

    package init(hasColour: Bool, isUnicode: Bool) {
        self.hasColour = hasColour
        self.isUnicode = isUnicode
    }

    fileprivate func styled(_ text: String, _ style: ScreenLine.Style, isReverse: Bool) -> String {
        guard !text.isEmpty else { return "" }
        // Bold and faint are no colours.
        let isOn = hasColour || style == .title || style == .faint
        let styled = ANSIStyle(isOn: isOn)(text, style.colour)
        return styled == text ? text : styled + (isReverse ? "\u{1B}[7m" : "")
    }
}
