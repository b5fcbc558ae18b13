/// Checks whether a script can return a value, by scanning its tokens. A script that cannot drops every event.
enum ScriptReturns {
    /// False only if every `return` outside of inner functions returns nothing or nil.
    static func value(in script: String) -> Bool {
        let words = words(of: Array(script.utf8))
        /// The blocks that are open, each closed by `end` or `until`. True for a function.
        var open: [Bool] = []
        for (number, word) in words.enumerated() {
            switch word {
            case "function": open.append(true)
            // `while` and `for` have a `do`, and `end` closes that.
            case "if", "do", "repeat": open.append(false)
            case "end", "until": _ = open.popLast()
            case "return" where !open.contains(true):
                let next = number + 1 < words.count ? words[number + 1] : ""
                let isNil = next == "nil" && (number + 2 >= words.count || Self.endsReturn.contains(words[number + 2]))
                if !isNil, !endsReturn.contains(next) { return true }
            default: break
            }
        }
        return false
    }

    /// Tokens that can follow a `return` without a value.
    private static let endsReturn: Set<String> = ["", ";", "end", "else", "elseif", "until"]

    /// Splits a script into names, keywords and single characters. Comments are left out; a string literal is one
    /// token.
    private static func words(of text: [UInt8]) -> [String] {
        var words: [String] = []
        var index = 0
        func isName(_ byte: UInt8) -> Bool {
            byte.isDigit || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z"))
                || byte == UInt8(ascii: "_")
        }
        while index < text.count {
            let byte = text[index]
            if byte <= 0x20 {
                index += 1
            } else if byte == UInt8(ascii: "-"), index + 1 < text.count, text[index + 1] == byte {
                index = bracket(text, at: index + 2) ?? text[index...].firstIndex(of: 0x0A) ?? text.count
            } else if let end = bracket(text, at: index) {
                words.append("[[]]")
                index = end
            } else if byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "'") {
                words.append("\"\"")
                index += 1
                while index < text.count, text[index] != byte { index += text[index] == UInt8(ascii: "\\") ? 2 : 1 }
                index += 1
            } else if isName(byte) {
                let end = text[index...].firstIndex { !isName($0) } ?? text.count
                words.append(String(decoding: text[index..<end], as: UTF8.self))
                index = end
            } else {
                words.append(String(decoding: [byte], as: UTF8.self))
                index += 1
            }
        }
        return words
    }

    /// Returns the end of a long bracket (`[[ ]]`, `[==[ ]==]`) that starts at `start`; nil if no long bracket starts
    /// there.
    private static func bracket(_ text: [UInt8], at start: Int) -> Int? {
        guard start < text.count, text[start] == UInt8(ascii: "[") else { return nil }
        let level = text[(start + 1)...].prefix { $0 == UInt8(ascii: "=") }.count
        guard start + 1 + level < text.count, text[start + 1 + level] == UInt8(ascii: "[") else { return nil }
        let close = [UInt8(ascii: "]")] + [UInt8](repeating: UInt8(ascii: "="), count: level) + [UInt8(ascii: "]")]
        var index = start + 2 + level
        while index + close.count <= text.count {
            if text[index..<index + close.count].elementsEqual(close) { return index + close.count }
            index += 1
        }
        return text.count
    }
}
