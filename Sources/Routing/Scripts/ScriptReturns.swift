/// Whether a script can give a value at all, found out from its words alone. One that cannot drops every event.
enum ScriptReturns {
    /// False only if no `return` outside of inner functions has a value other than nil.
    static func value(in script: String) -> Bool {
        let words = words(of: Array(script.utf8))
        /// What `end` and `until` close: true for a function.
        var open: [Bool] = []
        for (number, word) in words.enumerated() {
            switch word {
            case "function": open.append(true)
            // The `do` of `while` and `for` is the one that `end` closes.
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

    /// What may stand behind a `return` without a value.
    private static let endsReturn: Set<String> = ["", ";", "end", "else", "elseif", "until"]

    /// Names, keywords and single marks; comments are left out, and a text is one mark.
    private static func words(of text: [UInt8]) -> [String] {
        var words: [String] = []
        var index = 0
        func isName(_ byte: UInt8) -> Bool { byte.isDigit || (byte | 0x20 >= UInt8(ascii: "a") && byte | 0x20 <= UInt8(ascii: "z")) || byte == UInt8(ascii: "_") }
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

    /// Behind a text in long brackets (`[[ ]]`, `[==[ ]==]`) that begins here; nil: none does.
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
