// Finds an event's structure, 64 bytes at a time: the brackets, and the separators between the members of a container.
// Bytes inside a string are never marks.
#ifndef PENSTOCK_MARKS_HPP
#define PENSTOCK_MARKS_HPP

#include "CSimdjson.h"
#include "Escapes.hpp"

#include <cstdint>
#include <cstring>

namespace penstock {

// Always inlined into psj_fetch; see there.
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)

/// Passes over the bytes once, from the first to the last. Reads nothing beyond bytes[length - 1].
class Marks {
public:
    /// - length: above 0.
    Marks(const uint8_t *bytes, uint32_t length) noexcept : bytes(bytes), length(length) { load(); }

    /// Finds the offset of the next bracket or separator. In bytes that are not JSON, it may also find others. Returns
    /// false at the end.
    bool next(uint32_t &at) noexcept {
        while (rest == 0) {
            if (!next_block()) return false;
        }
        at = base + uint32_t(__builtin_ctzll(rest));
        rest &= rest - 1;
        return true;
    }

    /// Selects the separator, a colon or a comma, for the marks after the last one, which is at `at`.
    void look_for(uint8_t byte, uint32_t at) noexcept {
        separator = byte;
        rest = marks() & ~uint64_t(1) << (at - base);
    }

    /// Returns the last mark once more.
    void repeat(uint32_t at) noexcept { rest |= uint64_t(1) << (at - base); }

    /// Returns the offset of the quote that ends the string at `at`, or 0 if there is none. The string starts after the
    /// last mark and before the next one.
    uint32_t end_of_string(uint32_t at) noexcept {
        while (at - base >= size) {
            if (!next_block()) return 0;
        }
        uint64_t found = quotes & ~uint64_t(1) << (at - base);
        while (found == 0) {
            if (!next_block()) return 0;
            found = quotes;
        }
        return base + uint32_t(__builtin_ctzll(found));
    }

    /// A backslash was seen in this block or one before it.
    bool saw_backslash = false;

private:
    static constexpr uint32_t size = 64;
    // The compiler maps these to the vector instructions of the machine.
    typedef uint8_t Lanes __attribute__((ext_vector_type(size)));
    typedef bool Bits __attribute__((ext_vector_type(size)));

    const uint8_t *const bytes;
    const uint32_t length;
    uint8_t separator = ':';

    // State of the current block. One bit for each byte; the first byte is the lowest bit.
    uint32_t base = 0;
    /// Marks that were not returned yet.
    uint64_t rest = 0;
    /// Both quotes of every string. Escaped quotes are text and are not included.
    uint64_t quotes = 0;
    /// From each opening quote to the byte before the closing one.
    uint64_t inside = 0;
    /// The first bit is set if the last byte before the block escapes it.
    uint64_t escapes_next = 0;
    /// The bytes of the block. The first `excess` bytes at `source` lie before the block.
    const uint8_t *source = nullptr;
    uint32_t excess = 0;
    /// A copy of an event that is shorter than a block.
    uint8_t few[size];

    bool next_block() noexcept {
        if (length - base <= size) return false;
        base += size;
        load();
        return true;
    }

    void load() noexcept {
        const uint32_t left = length - base;
        source = bytes + base;
        if (left < size) {
            if (length >= size) {
                excess = size - left;
                source -= excess;
            } else {
                memset(few, 0, size);
                memcpy(few, bytes, left);
                source = few;
            }
        }
        Lanes lanes;
        memcpy(&lanes, source, size);
        quotes = where(lanes == '"') >> excess;
        const uint64_t backslashes = where(lanes == '\\') >> excess;
        if ((backslashes | escapes_next) != 0) quotes &= ~escaped_by(backslashes);
        // Each quote inverts all bits from itself on.
        const uint64_t before = uint64_t(int64_t(inside) >> 63);
        inside = quotes;
        for (int shift = 1; shift < 64; shift *= 2) inside ^= inside << shift;
        inside ^= before;
        rest = marks();
    }

    uint64_t marks() const noexcept {
        Lanes lanes;
        memcpy(&lanes, source, size);
        // Outside strings, brackets are the only JSON bytes that this operation maps to 0x7f.
        const auto brackets = (lanes | 0x26) == 0x7f;
        return where(brackets | (lanes == separator)) >> excess & ~inside;
    }

    /// The bytes after backslashes that are not escaped themselves.
    uint64_t escaped_by(uint64_t backslashes) noexcept {
        saw_backslash = true;
        uint64_t escaped = escapes_next;
        backslashes &= ~escaped;
        escapes_next = 0;
        while (backslashes != 0) {
            const uint64_t first = backslashes & -backslashes;
            escapes_next = first >> 63;
            escaped |= first << 1;
            backslashes &= ~(first | first << 1);
        }
        return escaped;
    }

    template <class Mask> static uint64_t where(const Mask &mask) noexcept {
        return __builtin_bit_cast(uint64_t, __builtin_convertvector(mask, Bits));
    }
};

/// The type of a value that is neither a string nor a container, by its first byte.
inline uint8_t scalar_type(uint8_t first) noexcept {
    switch (first) {
    case 'n': return PSJ_NULL;
    case 't': return PSJ_TRUE;
    case 'f': return PSJ_FALSE;
    default: return PSJ_NUMBER;
    }
}

#pragma clang attribute pop

} // namespace penstock

#endif
