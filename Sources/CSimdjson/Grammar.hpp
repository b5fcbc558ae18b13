// Checks JSON's grammar (RFC 8259) over structurals: everything that the first stage leaves unchecked, except escapes.
// The contents of strings are not read here: the first stage has checked that strings end and that they contain no raw
// control characters.
//
// All checks rely on a sentinel: the byte after the document, bytes[length], is readable and is white space. A walk
// beyond the end meets this byte, which is valid nowhere, and stops. No step needs a bounds check.
#ifndef PENSTOCK_GRAMMAR_HPP
#define PENSTOCK_GRAMMAR_HPP

#include "Parser.hpp"

namespace penstock {

enum class GrammarError : uint8_t { none, syntax, depth };

class Grammar {
public:
    Grammar(const Structurals &document, uint8_t *open, size_t max_depth) noexcept
        : bytes(document.bytes), at(document.at), open(open), max_depth(max_depth) {}

    GrammarError error = GrammarError::none;
    /// The offset of the first byte that breaks the grammar.
    uint32_t error_offset = 0;

    /// Checks the value at structural i, which has `depth` containers around it.
    /// Returns the number of the structural after the value, or 0 with `error` set.
    uint32_t value(uint32_t i, size_t depth) noexcept;

    uint32_t fail(uint32_t offset) noexcept {
        error = GrammarError::syntax;
        error_offset = offset;
        return 0;
    }

private:
    const uint8_t *bytes;
    const uint32_t *at;
    uint8_t *open;
    size_t max_depth;

    uint32_t container(uint32_t i, size_t depth) noexcept;
    bool number(uint32_t offset) noexcept;
    /// A number or a literal.
    bool scalar(uint32_t offset) noexcept;
    template <size_t size> bool literal(uint32_t offset, const char (&word)[size]) noexcept;

    /// Whether a number or a literal may end before this byte.
    static bool ends_scalar(uint8_t c) noexcept {
        return c == ',' || c == '}' || c == ']' || Structurals::is_space(c);
    }
    static bool is_digit(uint8_t c) noexcept { return uint8_t(c - '0') < 10; }
};

inline bool Grammar::number(uint32_t offset) noexcept {
    const uint8_t *p = bytes + offset;
    if (*p == '-') p++;
    if (*p == '0') p++;
    else if (is_digit(*p)) while (is_digit(*p)) p++;
    else return false;
    if (*p == '.') {
        if (!is_digit(*++p)) return false;
        while (is_digit(*p)) p++;
    }
    if ((*p | 0x20) == 'e') {
        p++;
        if (*p == '+' || *p == '-') p++;
        if (!is_digit(*p)) return false;
        while (is_digit(*p)) p++;
    }
    return ends_scalar(*p);
}

template <size_t size> inline bool Grammar::literal(uint32_t offset, const char (&word)[size]) noexcept {
    constexpr size_t length = size - 1;
    // The sentinel also ends the comparison.
    for (size_t k = 1; k < length; k++) {
        if (bytes[offset + k] != uint8_t(word[k])) return false;
    }
    return ends_scalar(bytes[offset + length]);
}

inline bool Grammar::scalar(uint32_t offset) noexcept {
    switch (bytes[offset]) {
    case '-': case '0': case '1': case '2': case '3': case '4':
    case '5': case '6': case '7': case '8': case '9': return number(offset);
    case 't': return literal(offset, "true");
    case 'f': return literal(offset, "false");
    case 'n': return literal(offset, "null");
    default: return false;
    }
}

inline uint32_t Grammar::value(uint32_t i, size_t depth) noexcept {
    const uint8_t first = bytes[at[i]];
    if (first == '"') return i + 1;
    if (first == '{' || first == '[') return container(i, depth);
    return scalar(at[i]) ? i + 1 : fail(at[i]);
}

} // namespace penstock

#endif
