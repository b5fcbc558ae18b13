import CSimdjson

/// Decoding, encoding and comparing JSON strings. *Contents* are the bytes of a string in an event, without its quotes:
/// UTF-8, with escapes.
package enum JSONText {
    /// Whether an event may contain this string, as a key or a value, at any depth. A fast check: false is certain,
    /// true is not.
    /// - Parameter string: as JSON, including its quotes; without escapes.
    @inline(__always)
    package static func mayContain(_ string: Span<UInt8>, in json: Span<UInt8>) -> Bool {
        unsafe json.withUnsafeBufferPointer { json in
            unsafe string.withUnsafeBufferPointer { string in
                unsafe psj_may_contain(json.baseAddress, json.count, string.baseAddress, string.count) != 0
            }
        }
    }

    /// Appends the decoded contents to `output`.
    /// - Returns: false if an escape is invalid, and then nothing is appended. An accepted event contains no invalid
    ///   escapes.
    package static func unescape(_ contents: Span<UInt8>, into output: inout [UInt8]) -> Bool {
        if contents.isEmpty { return true }
        var valid = true
        output.append(addingCapacity: contents.count) { free in
            unsafe free.withUnsafeMutableBufferPointer { free, initialized in
                let length = unsafe contents.withUnsafeBufferPointer { contents in
                    unsafe psj_unescape(contents.baseAddress, contents.count, free.baseAddress)
                }
                // size_t is imported as Int, and SIZE_MAX as -1.
                valid = length >= 0
                if valid { initialized = length }
            }
        }
        return valid
    }

    /// Appends JSON in which each half of a surrogate pair (`\ud83d` alone) is replaced by `\ufffd`, which is equally
    /// long. All other bytes stay unchanged.
    package static func appendReplacingLoneSurrogates(_ json: Span<UInt8>, to output: inout [UInt8]) {
        output.append(addingCapacity: json.count) { free in
            unsafe free.withUnsafeMutableBufferPointer { free, initialized in
                unsafe json.withUnsafeBufferPointer { json in
                    guard let from = json.baseAddress, let to = free.baseAddress else { return }
                    unsafe psj_replace_lone_surrogates(from, json.count, to)
                    initialized = json.count
                }
            }
        }
    }

    /// The decoded contents; nil if an escape is invalid.
    package static func string(_ contents: Span<UInt8>) -> String? {
        if firstIndex(of: UInt8(ascii: "\\"), in: contents) == nil { return text(contents) }
        var decoded: [UInt8] = []
        return unescape(contents, into: &decoded) ? text(decoded.span) : nil
    }

    /// Bytes as a String; nil if they are not UTF-8.
    package static func text(_ bytes: Span<UInt8>) -> String? {
        guard let characters = try? UTF8Span(validating: bytes) else { return nil }
        return String(copying: characters)
    }

    /// Whether the decoded contents equal `text`. Allocates no memory.
    /// - Parameter text: plain UTF-8.
    package static func contents(_ contents: Span<UInt8>, equal text: Span<UInt8>) -> Bool {
        // An escape is longer than the character that it encodes.
        if contents.count < text.count { return false }
        // With equal lengths, equal contents have no escapes; and a backslash in `text` would need one.
        if contents.count == text.count {
            return contents.hasBytes(of: text) && firstIndex(of: UInt8(ascii: "\\"), in: text) == nil
        }
        var decoder = EscapeDecoder(contents)
        for position in 0..<text.count {
            guard decoder.next() == text[position] else { return false }
        }
        return decoder.next() == nil && decoder.isValid
    }

    /// Appends plain UTF-8 as a JSON string, including quotes.
    package static func appendString(_ text: Span<UInt8>, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\""))
        appendContents(text, to: &output)
        output.append(UInt8(ascii: "\""))
    }

    /// Appends a JSON string, including quotes.
    package static func appendString(_ text: String, to output: inout [UInt8]) {
        appendString(text.utf8.span, to: &output)
    }

    /// Appends plain UTF-8 as the contents of a JSON string. Escapes only the characters that require it.
    package static func appendContents(_ text: Span<UInt8>, to output: inout [UInt8]) {
        var written = 0
        for position in 0..<text.count {
            let byte = text[position]
            guard byte < 0x20 || byte == UInt8(ascii: "\"") || byte == UInt8(ascii: "\\") else { continue }
            output.append(contentsOf: text.extracting(written..<position))
            written = position + 1
            appendEscape(of: byte, to: &output)
        }
        output.append(contentsOf: text.extracting(written...))
    }

    private static func appendEscape(of byte: UInt8, to output: inout [UInt8]) {
        output.append(UInt8(ascii: "\\"))
        switch byte {
        case 0x08: output.append(UInt8(ascii: "b"))
        case 0x09: output.append(UInt8(ascii: "t"))
        case 0x0A: output.append(UInt8(ascii: "n"))
        case 0x0C: output.append(UInt8(ascii: "f"))
        case 0x0D: output.append(UInt8(ascii: "r"))
        case 0x00..<0x20:
            let digits: StaticString = "0123456789abcdef"
            output.append(contentsOf: "u00".utf8)
            for nibble in [byte >> 4, byte & 15] { output.append(unsafe digits.utf8Start[Int(nibble)]) }
        default: output.append(byte)
        }
    }

    private static func firstIndex(of byte: UInt8, in bytes: Span<UInt8>) -> Int? {
        for position in 0..<bytes.count where bytes[position] == byte { return position }
        return nil
    }
}
