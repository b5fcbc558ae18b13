// A search for a text anywhere in an event. A quick "no" makes it unnecessary to read the event's fields.

#include "CSimdjson.h"
#include "Clones.hpp"

#include <cstring>

namespace {

// So many bytes at once, on any vector unit.
typedef uint8_t Lanes __attribute__((vector_size(32)));
typedef uint64_t Words __attribute__((vector_size(32)));

PENSTOCK_CLONES
bool contains(const uint8_t *bytes, size_t length, const uint8_t *text, size_t text_length) {
    // The first byte is usually a quote, which is everywhere, so two inner bytes are compared, too. Without the quote, a
    // client could fill an event with bytes that look like the text.
    const size_t second = text_length - 2;
    const uint8_t a = text[1], b = text[second];
    const size_t last = length - second - sizeof(Lanes);
    // Tests at .. at + 31 as positions of the text's first byte. The last round repeats some of them.
    for (size_t at = 0;; at = at + sizeof(Lanes) < last ? at + sizeof(Lanes) : last) {
        Lanes first, begin, end;
        memcpy(&first, bytes + at, sizeof first);
        memcpy(&begin, bytes + at + 1, sizeof begin);
        memcpy(&end, bytes + at + second, sizeof end);
        const Lanes hit = (Lanes(first == text[0]) & Lanes(begin == a) & Lanes(end == b)) | Lanes(first == '\\');
        Words words;
        memcpy(&words, &hit, sizeof words);
        if ((words[0] | words[1] | words[2] | words[3]) != 0) {
            for (size_t k = at; k < at + sizeof(Lanes); k++) {
                if (bytes[k] == '\\') return true;
                if (bytes[k] == text[0] && bytes[k + 1] == a && bytes[k + second] == b &&
                    k + text_length <= length && memcmp(bytes + k, text, text_length) == 0)
                    return true;
            }
        }
        if (at == last) break;
    }
    // The rest is shorter than the text.
    return memchr(bytes + length - second, '\\', second) != nullptr;
}

} // namespace

int psj_may_contain(const uint8_t *bytes, size_t length, const uint8_t *text, size_t text_length) {
    if (text_length < 4) return 1;
    if (length < text_length) return 0;
    if (length >= text_length + sizeof(Lanes)) return contains(bytes, length, text, text_length);
    for (size_t at = 0; at < length; at++) {
        if (bytes[at] == '\\') return 1;
        if (at + text_length <= length && memcmp(bytes + at, text, text_length) == 0) return 1;
    }
    return 0;
}
