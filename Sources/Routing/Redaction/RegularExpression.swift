import CRE2
import Events

/// A regular expression of the user's, by RE2: no text makes a search take more than a time linear
/// in its length. Immutable; any thread.
@safe final class RegularExpression: @unchecked Sendable {
    /// Bytes of an expression's text.
    static let maximumLength = 4 << 10
    /// Bytes that one takes once compiled, and while it searches.
    private static let maximumMemory = 4 << 20

    private let pattern: OpaquePointer

    /// - Throws: what RE2 says about it.
    init(_ text: String) throws(FilterError) {
        let whole = 0..<text.utf8.count
        guard text.utf8.count <= Self.maximumLength else {
            throw FilterError(whole, "a regular expression has at most \(Self.maximumLength) bytes")
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

    /// Whether it is found in the text, an empty match included.
    func matches(_ text: Span<UInt8>) -> Bool {
        var (from, to) = (0, 0)
        return unsafe text.withUnsafeBufferPointer { text in
            unsafe text.withMemoryRebound(to: CChar.self) { text in
                unsafe cre2_find(pattern, text.baseAddress, text.count, 0, &from, &to)
            }
        } != 0
    }

    /// The first match that is not empty, from a position on.
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
