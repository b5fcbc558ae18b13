// Access to simdjson's first stage and to its result.
//
// simdjson works in two stages. The first one runs over the bytes with vector instructions. It checks UTF-8, the ends
// of strings and raw control characters, and records the offset of every *structural*: one of {}[]:, or the first byte
// of a string, number or literal. The second stage builds a tree from the structurals.
//
// The second stage is not used here. It copies every string, rejects integers beyond 64 bits and 1e400, and needs
// padding after the document. Admission only needs the places of the fields in the client's own bytes, and the
// structurals give these directly. Grammar.hpp replaces the second stage: it checks exactly what the first stage leaves
// unchecked.
//
// The first stage reads nothing beyond the length that it is given.
#ifndef PENSTOCK_PARSER_HPP
#define PENSTOCK_PARSER_HPP

#include "CSimdjson.h"

#include <memory>
#include <simdjson.h>

namespace penstock {

/// The structurals of one document.
struct Structurals {
    const uint8_t *bytes;
    uint32_t length;
    /// at[count] is `length`.
    const uint32_t *at;
    uint32_t count;

    /// The first byte of structural i < count.
    uint8_t operator[](uint32_t i) const noexcept { return bytes[at[i]]; }

    /// The end of the scalar at structural i: one past a string's closing quote, or past a number's last digit. Between
    /// it and the next structural there is only white space, because any other byte would be a structural.
    uint32_t end(uint32_t i) const noexcept {
        uint32_t end = i + 1 < count ? at[i + 1] : length;
        while (end > at[i] + 1 && is_space(bytes[end - 1])) end--;
        return end;
    }

    /// The contents of the string at structural i, without its quotes.
    psj_slice string(uint32_t i) const noexcept {
        const uint32_t start = at[i] + 1, close = end(i);
        return {start, close > start ? close - 1 - start : 0};
    }

    static bool is_space(uint8_t c) noexcept {
        // The first comparison is enough for most bytes.
        return c <= ' ' && (c == ' ' || c == '\t' || c == '\n' || c == '\r');
    }
};

} // namespace penstock

struct psj_parser {
    std::unique_ptr<simdjson::internal::dom_parser_implementation> library;
    size_t max_depth = 0;
    /// max_depth entries: the opening brackets of the open containers.
    std::unique_ptr<uint8_t[]> open;
    /// A buffer for a decoded key, as long as the longest document.
    std::unique_ptr<uint8_t[]> key;

    /// Runs the first stage. Unless it returns PSJ_OK, there are no structurals. The result is valid until the next
    /// call.
    psj_verdict index(const uint8_t *bytes, uint32_t length, penstock::Structurals &out) noexcept {
        out = {bytes, length, library->structural_indexes.get(), 0};
        // Not all of the library's implementations check this.
        if (length > library->capacity()) return PSJ_TOO_LARGE;
        switch (library->stage1(bytes, length, simdjson::stage1_mode::regular)) {
        case simdjson::SUCCESS: break;
        case simdjson::UTF8_ERROR: return PSJ_INVALID_UTF8;
        case simdjson::UNCLOSED_STRING: return PSJ_UNCLOSED_STRING;
        case simdjson::UNESCAPED_CHARS: return PSJ_CONTROL_CHARACTER;
        default: return PSJ_INVALID_JSON;
        }
        out.count = library->n_structural_indexes;
        library->structural_indexes[out.count] = length;
        return PSJ_OK;
    }
};

#endif
