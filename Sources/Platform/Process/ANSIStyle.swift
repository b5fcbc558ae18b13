/// Colours text for a terminal (ECMA-48), or leaves it plain. All programs' colours come from here.
package struct ANSIStyle: Sendable {
    package enum Colour: Int, Sendable {
        case bold = 1
        case dim = 2
        case red = 31
        case green = 32
        case yellow = 33
        case cyan = 36
    }

    private let isOn: Bool

    package init(isOn: Bool) { self.isOn = isOn }

    /// Colours `text`. Control characters in it are escaped, so that text from outside cannot control the terminal.
    package func callAsFunction(_ text: String, _ colour: Colour? = nil) -> String {
        let text = text.withControlCharactersEscaped
        guard isOn, let colour, !text.isEmpty else { return text }
        return "\u{1B}[\(colour.rawValue)m\(text)\u{1B}[0m"
    }
}
