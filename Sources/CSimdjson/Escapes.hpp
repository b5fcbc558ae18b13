// Backslash escapes in JSON strings.
#ifndef PENSTOCK_ESCAPES_HPP
#define PENSTOCK_ESCAPES_HPP

#include <cstddef>
#include <cstdint>
#include <cstring>

namespace penstock {

enum class EscapeError : uint8_t { none, invalid, lone_surrogate };

/// One escape: what it stands for, and how long it is.
struct Escape {
    uint32_t scalar = 0;
    uint32_t length = 0;
    EscapeError error = EscapeError::none;
};

/// Reads the escape whose backslash is bytes[0]; looks at most at `length` bytes.
Escape read_escape(const uint8_t *bytes, size_t length) noexcept;

/// Checks every escape of a document, from `first`, its first backslash. A backslash outside a
/// string is for the grammar to refuse; as a start of an escape it is merely checked too.
/// Returns where the first wrong one is, or nullptr.
const uint8_t *find_wrong_escape(const uint8_t *first, const uint8_t *end, EscapeError &error) noexcept;

/// Whether a string's contents, escapes and all, are this text.
bool decodes_to(const uint8_t *contents, size_t length, const uint8_t *text, size_t text_length) noexcept;

inline const uint8_t *find_backslash(const uint8_t *bytes, size_t length) noexcept {
    return length == 0 ? nullptr : static_cast<const uint8_t *>(memchr(bytes, '\\', length));
}

} // namespace penstock

#endif
