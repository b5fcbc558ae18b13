/// The case functions. They work in place on text at the end of the scratch memory. ASCII, which is nearly all text,
/// needs no other memory.
enum TextCase {
    case lower, upper
    /// Replaces spaces with `_` or `-`, as Segment's functions do.
    case snake, kebab
    /// Changes the first letter of every word to upper case and leaves the others. Spaces separate words.
    case title

    /// Changes the text from `start` to the end of `scratch`, which may grow.
    func apply(to scratch: inout [UInt8], from start: Int) {
        switch self {
        case .snake: replaceSpaces(in: &scratch, from: start, with: UInt8(ascii: "_"))
        case .kebab: replaceSpaces(in: &scratch, from: start, with: UInt8(ascii: "-"))
        case .lower, .upper, .title:
            guard scratch[start...].allSatisfy({ $0 < 0x80 }) else { return applyToUnicode(&scratch, from: start) }
            var startsWord = true
            for i in start..<scratch.count {
                let byte = scratch[i]
                switch self {
                case .lower: if byte >= UInt8(ascii: "A"), byte <= UInt8(ascii: "Z") { scratch[i] = byte | 0x20 }
                case .title where !startsWord: break
                default: if byte >= UInt8(ascii: "a"), byte <= UInt8(ascii: "z") { scratch[i] = byte & ~0x20 }
                }
                startsWord = byte == 0x20
            }
        }
    }

    private func replaceSpaces(in scratch: inout [UInt8], from start: Int, with byte: UInt8) {
        for i in start..<scratch.count where scratch[i] == 0x20 { scratch[i] = byte }
    }

    /// Uses Unicode's case mappings, which may change the length.
    private func applyToUnicode(_ scratch: inout [UInt8], from start: Int) {
        let text = String(decoding: scratch[start...], as: UTF8.self)
        var result = ""
        switch self {
        case .lower: result = text.lowercased()
        case .upper: result = text.uppercased()
        default:
            var startsWord = true
            for scalar in text.unicodeScalars {
                if startsWord {
                    result += scalar.properties.titlecaseMapping
                } else {
                    result.unicodeScalars.append(scalar)
                }
                startsWord = scalar == " "
            }
        }
        scratch.removeSubrange(start...)
        scratch.append(contentsOf: result.utf8)
    }
}
