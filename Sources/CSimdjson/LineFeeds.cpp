#include "LineFeeds.hpp"

#include "Clones.hpp"

#include <cstring>

namespace penstock {

PENSTOCK_CLONES
void find_line_feeds(const uint8_t *bytes, size_t length, uint32_t limit, LineFeeds &out) {
    constexpr size_t size = 64;
    // The compiler maps these to the vector instructions of the machine.
    typedef uint8_t Lanes __attribute__((ext_vector_type(size)));
    typedef bool Bits __attribute__((ext_vector_type(size)));
    uint32_t count = 0;
    uint64_t backslashes = 0;
    size_t base = 0;
    for (; length - base >= size && count < limit; base += size) {
        Lanes lanes;
        memcpy(&lanes, bytes + base, size);
        backslashes |= __builtin_bit_cast(uint64_t, __builtin_convertvector(lanes == '\\', Bits));
        uint64_t feeds = __builtin_bit_cast(uint64_t, __builtin_convertvector(lanes == '\n', Bits));
        for (; feeds != 0 && count < limit; feeds &= feeds - 1) {
            out.offsets[count++] = uint32_t(base) + uint32_t(__builtin_ctzll(feeds));
        }
    }
    for (; base < length && count < limit; base++) {
        backslashes |= bytes[base] == '\\';
        if (bytes[base] == '\n') out.offsets[count++] = uint32_t(base);
    }
    out.count = count;
    out.may_escape = backslashes != 0;
}

} // namespace penstock
