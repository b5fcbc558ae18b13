#include "text.h"

#include <stdint.h>

bool is_plain_text(const char *text, size_t length) {
    const uint8_t *next = (const uint8_t *)text, *end = next + length;
    while (next < end) {
        uint8_t first = *next++;
        unsigned more = first < 0x80 ? 0 : first >= 0xC2 && first < 0xE0 ? 1 : (first & 0xF0) == 0xE0 ? 2
            : first >= 0xF0 && first < 0xF5 ? 3 : 4;
        if (more == 4 || (size_t)(end - next) < more) return false;
        uint32_t scalar = more == 0 ? first : first & (0x3Fu >> more);
        for (unsigned i = 0; i < more; i++, next++) {
            if ((*next & 0xC0) != 0x80) return false;
            scalar = scalar << 6 | (*next & 0x3F);
        }
        /* Longer than it needs to be, half of a surrogate pair, or beyond Unicode. */
        if ((more == 2 && scalar < 0x800) || (more == 3 && (scalar < 0x10000 || scalar > 0x10FFFF))) return false;
        if (scalar >= 0xD800 && scalar < 0xE000) return false;
        if (scalar < 0x20 || (scalar >= 0x7F && scalar < 0xA0)) return false;
    }
    return true;
}
