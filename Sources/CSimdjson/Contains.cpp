// A search for a short text anywhere in an event. A quick "no" makes it unnecessary to read the event's fields.

#include "CSimdjson.h"

#include <cstring>

namespace {

// Sixteen bytes at once, on any vector unit.
typedef uint8_t Lanes __attribute__((vector_size(16)));
typedef uint64_t Words __attribute__((vector_size(16)));

Lanes load(const uint8_t *bytes) {
    Lanes lanes;
    memcpy(&lanes, bytes, sizeof lanes);
    return lanes;
}

bool any(Lanes lanes) {
    const Words words = reinterpret_cast<Words &>(lanes);
    return (words[0] | words[1]) != 0;
}

} // namespace

int psj_may_contain(const uint8_t *bytes, size_t length, const uint8_t *text, size_t text_length) {
    // The first byte is usually a quote, which is everywhere. So two inner bytes are compared first.
    if (text_length < 4) return 1;
    if (length < text_length) return 0;
    const size_t second = text_length - 2;
    const uint8_t a = text[1], b = text[second];
    size_t at = 0;
    // Tests at .. at + 15 as positions of the text's first byte.
    for (; at + second + sizeof(Lanes) <= length; at += sizeof(Lanes)) {
        Lanes hit = Lanes(load(bytes + at + 1) == a) & Lanes(load(bytes + at + second) == b);
        hit |= Lanes(load(bytes + at) == '\\');
        if (!any(hit)) continue;
        for (size_t k = at; k < at + sizeof(Lanes); k++) {
            if (bytes[k] == '\\') return 1;
            if (bytes[k + 1] == a && bytes[k + second] == b && k + text_length <= length &&
                memcmp(bytes + k, text, text_length) == 0)
                return 1;
        }
    }
    for (; at < length; at++) {
        if (bytes[at] == '\\') return 1;
        if (at + text_length <= length && memcmp(bytes + at, text, text_length) == 0) return 1;
    }
    return 0;
}
