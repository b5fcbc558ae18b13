import CRE2
import Events

/// A regular expression supplied by the user. RE2 guarantees a search time linear in the length of the text. Immutable;
/// usable from any thread.
@safe final class RegularExpression: @unchecked Sendable {
    /// Maximum length of an expression, in bytes.
    static let maximumLength = 4 << 10
    /// Maximum memory for the compiled expression and its searches, in bytes.
    private static let maximumMemory = 4 << 20

    private let pattern: OpaquePointer

    /// - Throws: RE2's error message.
    init(_ text: String) throws(FilterError) {
        let whole = 0..<text.utf8.count
        guard text.utf8.count <= Self.maximumLength else {
            throw FilterError(whole, "a regular expression may have at most \(Self.maximumLength) bytes")
        }
        var error = [CChar](repeating: 0, count: 256)
        let bytes = text.utf8.map(CChar.init(bitPattern:))
        guard let pattern = unsafe cre2_create(bytes, bytes.count, Self.maximumMemory, &error, error.count) else {
            let reason = String(decoding: error.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
            throw FilterError(
                whole, "this is not a regular expression: \(reason)",
                hint: "the syntax is RE2's, https://github.com/google/re2/wiki/Syntax")
        }
        unsafe self.pattern = pattern
    }

    deinit { unsafe cre2_destroy(pattern) }

    /// Whether the text contains a match, which may be empty.
    func matches(_ text: Span<UInt8>) -> Bool {
        unsafe text.withUnsafeBufferPointer { text in
            unsafe text.withMemoryRebound(to: CChar.self) { text in
                unsafe cre2_matches(pattern, text.baseAddress, text.count)
            }
        } != 0
    }

    /// Returns the first non-empty match at or after `start`.
    func find(in text: Span<UInt8>, from start: Int) -> Range<Int>? {
        var position = start
        while position < text.count {
            var (from, to) = (0, 0)
            let found = unsafe text.withUnsafeBufferPointer { text in
                unsafe text.withMemoryRebound(to: CChar.self) { text in
                    unsafe cre2_find(pattern, text.baseAddress, text.count, position, &from, &to)
                }
            }
            guard found != 0 else { return nil }
            if to > from { return from..<to }
            position = to + 1
        }
        return nil
    }
}
