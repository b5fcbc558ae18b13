import CSimdjson

/// A fault of a text that is not JSON.
package struct JSONFault: Error, Sendable, Equatable {
    /// `invalidJSON`, `invalidUTF8` or `tooDeep`.
    package var reason: RefusalReason
    /// One sentence for the sender, with the position as a byte counted from 1.
    package var detail: String
}

/// Checks whether a text is one JSON value, to the letter of RFC 8259. Belongs to one thread. Takes up to 24 bytes
/// of memory for each byte of the text, and keeps it between texts of at most 64 KiB.
@safe package final class JSONValidator {
    private static let kept = 64 << 10

    private var parser: OpaquePointer?
    private var capacity = 0

    package init() {}

    deinit { unsafe psj_parser_destroy(parser) }

    /// - Parameters:
    ///   - text: the value, with white space around it. The last byte is white space.
    ///   - maximumDepth: levels of objects and arrays.
    ///   - position: maps the offset of a fault in the text to the offset that the sender sees.
    /// - Precondition: the text has at most 1 GiB, and enough memory is available.
    package func check(
        _ text: Span<UInt8>, maximumDepth: Int = .max, position: (Int) -> Int = { $0 }
    ) throws(JSONFault) {
        precondition(text.count <= 1 << 30, "a text of \(text.count) bytes is too large for the validator")
        guard let last = text.indices.last, Self.isSpace(text[last]) else {
            preconditionFailure("the last byte of the text is not white space")
        }
        reserve(text.count)
        defer { if capacity > Self.kept { free() } }
        var place = psj_slice()
        let verdict = unsafe text.withUnsafeBufferPointer { text in
            unsafe psj_validate(parser, text.baseAddress, text.count - 1, max(maximumDepth, 1), &place)
        }
        let found = psj_verdict(UInt32(bitPattern: verdict))
        if found == PSJ_OK { return }
        let offset = Slice(place).isPresent ? Int(place.offset) : Self.offset(of: found, in: text)
        throw Self.explain(found, text, offset, place: position(offset) + 1, maximumDepth)
    }

    private func reserve(_ count: Int) {
        if count <= capacity { return }
        var larger = 4096
        while larger < count { larger *= 2 }
        unsafe psj_parser_destroy(parser)
        // The text bounds the depth: a level takes at least one byte.
        unsafe parser = psj_parser_create(larger, larger)
        guard unsafe parser != nil else { preconditionFailure("no memory for a parser of \(larger) bytes") }
        capacity = larger
    }

    private func free() {
        unsafe psj_parser_destroy(parser)
        unsafe parser = nil
        capacity = 0
    }

    private static func isSpace(_ byte: UInt8) -> Bool {
        byte == 0x20 || byte == 0x0A || byte == 0x0D || byte == 0x09
    }

    private static func explain(
        _ verdict: psj_verdict, _ text: Span<UInt8>, _ offset: Int, place: Int, _ maximumDepth: Int
    ) -> JSONFault {
        switch verdict {
        case PSJ_INVALID_UTF8:
            return JSONFault(reason: .invalidUTF8, detail: "the text is not UTF-8 at byte \(place); encode it as UTF-8")
        case PSJ_UNCLOSED_STRING:
            return JSONFault(
                reason: .invalidJSON, detail: "not valid JSON: the string at byte \(place) has no closing quote")
        case PSJ_CONTROL_CHARACTER:
            return JSONFault(
                reason: .invalidJSON,
                detail: """
                    not valid JSON: a string holds a raw control character at byte \(place); write it as an escape \
                    such as \\n or \\u0000
                    """)
        case PSJ_TOO_DEEP:
            return JSONFault(
                reason: .tooDeep,
                detail: "objects and lists are nested deeper than \(maximumDepth) at byte \(place); flatten them")
        case PSJ_INVALID_ESCAPE:
            return JSONFault(
                reason: .invalidJSON,
                detail: "not valid JSON: invalid escape at byte \(place); write a backslash as \\\\")
        default:
            if offset == 0, text.count >= 3, text[0] == 0xEF, text[1] == 0xBB, text[2] == 0xBF {
                return JSONFault(
                    reason: .invalidJSON, detail: "the text begins with a byte order mark; send UTF-8 without one")
            }
            guard offset < text.count - 1 else {
                return JSONFault(
                    reason: .invalidJSON, detail: "not valid JSON: the text ends in the middle of a value")
            }
            return JSONFault(
                reason: .invalidJSON,
                detail: "not valid JSON at byte \(place): unexpected \(ScannedRefusal.describe(text[offset]))")
        }
    }

    /// The place of a fault that was found without its place: simdjson does not report it.
    private static func offset(of verdict: psj_verdict, in text: Span<UInt8>) -> Int {
        if verdict == PSJ_INVALID_UTF8 {
            do throws(UTF8.ValidationError) {
                _ = try UTF8Span(validating: text)
            } catch {
                return error.byteOffsets.lowerBound
            }
        }
        var opening: Int?
        var position = 0
        while position < text.count {
            let byte = text[position]
            if opening != nil, byte < 0x20, verdict == PSJ_CONTROL_CHARACTER { return position }
            if byte == UInt8(ascii: "\"") { opening = opening == nil ? position : nil }
            position += byte == UInt8(ascii: "\\") ? 2 : 1
        }
        return opening ?? text.count - 1
    }
}
