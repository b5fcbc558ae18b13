#include "Escapes.hpp"

#include "CSimdjson.h"

namespace penstock {
namespace {

/// Returns the value of four hexadecimal digits, or UINT32_MAX.
uint32_t read_hex(const uint8_t *digits) noexcept {
    uint32_t value = 0;
    for (int i = 0; i < 4; i++) {
        const uint8_t c = digits[i], letter = c | 0x20;
        if (c >= '0' && c <= '9') value = value << 4 | (c - '0');
        else if (letter >= 'a' && letter <= 'f') value = value << 4 | (letter - 'a' + 10);
        else return UINT32_MAX;
    }
    return value;
}

size_t write_utf8(uint32_t scalar, uint8_t *out) noexcept {
    if (scalar < 0x80) {
        out[0] = uint8_t(scalar);
        return 1;
    }
    if (scalar < 0x800) {
        out[0] = uint8_t(0xc0 | scalar >> 6);
        out[1] = uint8_t(0x80 | (scalar & 0x3f));
        return 2;
    }
    if (scalar < 0x10000) {
        out[0] = uint8_t(0xe0 | scalar >> 12);
        out[1] = uint8_t(0x80 | (scalar >> 6 & 0x3f));
        out[2] = uint8_t(0x80 | (scalar & 0x3f));
        return 3;
    }
    out[0] = uint8_t(0xf0 | scalar >> 18);
    out[1] = uint8_t(0x80 | (scalar >> 12 & 0x3f));
    out[2] = uint8_t(0x80 | (scalar >> 6 & 0x3f));
    out[3] = uint8_t(0x80 | (scalar & 0x3f));
    return 4;
}

} // namespace

Escape read_escape(const uint8_t *bytes, size_t length) noexcept {
    const Escape invalid{0, 0, EscapeError::invalid}, lone{0, 0, EscapeError::lone_surrogate};
    if (length < 2) return invalid;
    switch (bytes[1]) {
    case '"': case '\\': case '/': return {bytes[1], 2};
    case 'b': return {'\b', 2};
    case 'f': return {'\f', 2};
    case 'n': return {'\n', 2};
    case 'r': return {'\r', 2};
    case 't': return {'\t', 2};
    case 'u': break;
    default: return invalid;
    }
    if (length < 6) return invalid;
    const uint32_t first = read_hex(bytes + 2);
    if (first == UINT32_MAX) return invalid;
    if (first < 0xd800 || first > 0xdfff) return {first, 6};
    if (first > 0xdbff || length < 12 || bytes[6] != '\\' || bytes[7] != 'u') return lone;
    const uint32_t second = read_hex(bytes + 8);
    if (second == UINT32_MAX) return invalid;
    if (second < 0xdc00 || second > 0xdfff) return lone;
    return {0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00), 12};
}

const uint8_t *find_wrong_escape(const uint8_t *first, const uint8_t *end, EscapeError &error) noexcept {
    for (const uint8_t *at = first; at != nullptr; at = find_backslash(at, size_t(end - at))) {
        const Escape escape = read_escape(at, size_t(end - at));
        if (escape.error != EscapeError::none) {
            error = escape.error;
            return at;
        }
        at += escape.length;
    }
    return nullptr;
}

bool decodes_to(const uint8_t *contents, size_t length, const uint8_t *text, size_t text_length) noexcept {
    size_t at = 0, k = 0;
    while (at < length) {
        uint8_t bytes[4] = {contents[at]};
        size_t count = 1, taken = 1;
        if (contents[at] == '\\') {
            const Escape escape = read_escape(contents + at, length - at);
            if (escape.error != EscapeError::none) return false;
            count = write_utf8(escape.scalar, bytes);
            taken = escape.length;
        }
        if (count > text_length - k || memcmp(bytes, text + k, count) != 0) return false;
        at += taken;
        k += count;
    }
    return k == text_length;
}

} // namespace penstock

void psj_replace_lone_surrogates(const uint8_t *bytes, size_t length, uint8_t *out) {
    if (length == 0) return;
    memcpy(out, bytes, length);
    size_t at = 0;
    while (const uint8_t *backslash = penstock::find_backslash(bytes + at, length - at)) {
        at = size_t(backslash - bytes);
        const penstock::Escape escape = penstock::read_escape(backslash, length - at);
        switch (escape.error) {
        case penstock::EscapeError::none: at += escape.length; break;
        case penstock::EscapeError::invalid: at += length - at < 2 ? 1 : 2; break;
        case penstock::EscapeError::lone_surrogate:
            memcpy(out + at, "\\ufffd", 6);
            at += 6;
            break;
        }
    }
}

size_t psj_unescape(const uint8_t *contents, size_t length, uint8_t *out) {
    size_t from = 0, to = 0;
    while (from < length) {
        const uint8_t *backslash = penstock::find_backslash(contents + from, length - from);
        const size_t plain = backslash ? size_t(backslash - contents) - from : length - from;
        memcpy(out + to, contents + from, plain);
        from += plain;
        to += plain;
        if (!backslash) break;
        const penstock::Escape escape = penstock::read_escape(backslash, length - from);
        if (escape.error != penstock::EscapeError::none) return SIZE_MAX;
        // An escape is never shorter than the UTF-8 of its character, so `out` cannot overflow.
        to += penstock::write_utf8(escape.scalar, out + to);
        from += escape.length;
    }
    return to;
}
