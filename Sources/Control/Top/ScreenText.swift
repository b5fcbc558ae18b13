import Platform

/// Texts of a fixed width on a terminal.
package enum ScreenText {
    /// The number of columns that a terminal shows: wide characters take two, combining ones none.
    package static func columns(of text: String) -> Int {
        text.unicodeScalars.reduce(0) { $0 + columns(of: $1) }
    }

    /// The text in exactly `width` columns: cut, with `…` at the cut if there is room, or padded.
    /// - Parameter alignsRight: pad at the left.
    package static func fit(_ text: String, _ width: Int, alignsRight: Bool = false) -> String {
        guard width > 0 else { return "" }
        let taken = columns(of: text)
        if taken <= width {
            let padding = String(repeating: " ", count: width - taken)
            return alignsRight ? padding + text : text + padding
        }
        var result = ""
        var used = 0
        for scalar in text.unicodeScalars {
            let next = columns(of: scalar)
            guard used + next <= width - 1 else { break }
            result.unicodeScalars.append(scalar)
            used += next
        }
        return result + "…" + String(repeating: " ", count: width - 1 - used)
    }

    /// The text as a terminal without UTF-8 shows it.
    package static func ascii(_ text: String) -> String {
        var result = ""
        for scalar in text.unicodeScalars {
            if scalar.isASCII {
                result.unicodeScalars.append(scalar)
            } else if let likeness = likenesses[scalar] {
                result.unicodeScalars.append(likeness)
            } else if let level = Sparkline.marks.firstIndex(of: scalar) {
                result.unicodeScalars.append(Sparkline.asciiMarks[level])
            } else {
                result += String(repeating: "?", count: columns(of: scalar))
            }
        }
        return result
    }

    private static let likenesses: [Unicode.Scalar: Unicode.Scalar] = ["…": "~", "↑": "^", "↓": "v", "µ": "u"]

    private static func columns(of scalar: Unicode.Scalar) -> Int {
        if scalar.value < 0x300 { return 1 }
        switch scalar.properties.generalCategory {
        case .nonspacingMark, .enclosingMark, .format: return 0
        default: break
        }
        switch scalar.value {
        case 0x1100...0x115F, 0x2E80...0x303E, 0x3041...0xA4CF, 0xAC00...0xD7A3, 0xF900...0xFAFF, 0xFE30...0xFE6F,
            0xFF00...0xFF60, 0xFFE0...0xFFE6, 0x1F300...0x1F64F, 0x1F680...0x1F6FF, 0x1F900...0x1FAFF,
            0x20000...0x3FFFD:
            return 2
        default: return 1
        }
    }
}

/// A graph of one line.
package enum Sparkline {
    static let marks: [Unicode.Scalar] = ["▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"]
    static let asciiMarks: [Unicode.Scalar] = ["_", ".", ":", "-", "=", "+", "*", "#"]

    /// The last `width` values, the newest at the right, in relation to the largest of them. Zero is a blank, so that
    /// silence differs from little.
    package static func draw(_ values: some BidirectionalCollection<Double>, width: Int) -> String {
        guard width > 0 else { return "" }
        let shown = values.suffix(width)
        let largest = shown.max() ?? 0
        var text = String(repeating: " ", count: width - shown.count)
        for value in shown {
            guard value > 0, largest > 0, value.isFinite else {
                text += " "
                continue
            }
            let level = Int((value / largest * Double(marks.count)).rounded(.up)) - 1
            text.unicodeScalars.append(marks[min(max(level, 0), marks.count - 1)])
        }
        return text
    }
}
