// Backslash escapes in JSON strings.
#ifndef PENSTOCK_ESCAPES_HPP
#define PENSTOCK_ESCAPES_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock {

enum class EscapeError : uint8_t { none, invalid, lone_surrogate };

/// One escape: the character that it encodes, and its length.
struct Escape {
    uint32_t scalar = 0;
    uint32_t length = 0;
    EscapeError error = EscapeError::none;
};

/// Reads the escape whose backslash is bytes[0]. Reads at most `length` bytes.
Escape read_escape(const uint8_t *bytes, size_t length) noexcept;

/// Checks every escape of a document. `first` is its first backslash. Returns the first invalid escape, or nullptr. A
/// backslash outside a string is also checked as if it started an escape; the grammar rejects it.
const uint8_t *find_wrong_escape(const uint8_t *first, const uint8_t *end, EscapeError &error) noexcept;

/// Whether the contents of a string, with escapes, decode to this text.
bool decodes_to(const uint8_t *contents, size_t length, const uint8_t *text, size_t text_length) noexcept;

inline const uint8_t *find_backslash(const uint8_t *bytes, size_t length) noexcept {
    return length == 0 ? nullptr : static_cast<const uint8_t *>(memchr(bytes, '\\', length));
}

} // namespace penstock

#endif
