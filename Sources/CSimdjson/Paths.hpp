// A set of paths, compiled to a trie.
#ifndef PENSTOCK_PATHS_HPP
#define PENSTOCK_PATHS_HPP

#include "CSimdjson.h"
#include "Escapes.hpp"

#include <cstring>
#include <string>
#include <string_view>
#include <vector>

namespace penstock {

constexpr uint32_t no_index = UINT32_MAX;

struct Node {
    /// In `psj_paths::nodes`, in a row.
    uint32_t first_child = 0, child_count = 0;
    /// The key that leads here, in `psj_paths::keys`.
    uint32_t key_offset = 0, key_length = 0;
    /// The array index that leads here, or no_index.
    uint32_t index = no_index;
    /// In `psj_paths::order`: the paths that end here lie in first..<own_end, those that lead through
    /// here in own_end..<end.
    uint32_t first = 0, own_end = 0, end = 0;
    /// The first and the last eight bytes of the key in its quotes. Of a shorter one the last are
    /// all of it, and `tail_bits` says which of the eight count.
    uint64_t head = 0, tail = 0, tail_bits = 0;
    /// The `hint`s of the children's keys: a key with another is none of them.
    uint64_t hints = 0;
    bool has_indexed_child = false;
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are compared whose last byte is the highest");

/// The eight bytes before bytes[end], the last one highest; zeros for what would be before bytes[0].
inline uint64_t read_tail(const uint8_t *bytes, uint32_t end) noexcept {
    uint64_t tail = 0;
    if (end >= 8) memcpy(&tail, bytes + end - 8, 8);
    else memcpy(reinterpret_cast<uint8_t *>(&tail) + 8 - end, bytes, end);
    return tail;
}

/// One of 64 bits, by the two characters before a closing quote.
inline uint64_t hint(uint64_t tail) noexcept {
    return uint64_t(1) << (uint16_t(uint16_t(tail >> 40) * 0x9e37u) >> 10);
}

} // namespace penstock

struct psj_paths {
    /// The first is the root: the event itself.
    std::vector<penstock::Node> nodes;
    std::string keys;
    /// The paths' numbers, so that those below one node lie in a row.
    std::vector<uint32_t> order;

    /// The node for the key without escapes whose closing quote is bytes[end - 1]; nullptr: no path
    /// leads there. Reads nothing before bytes[0].
    __attribute__((always_inline)) const penstock::Node *
    find(const penstock::Node &parent, const uint8_t *bytes, uint32_t end) const noexcept {
        const uint64_t tail = penstock::read_tail(bytes, end);
        if ((parent.hints & penstock::hint(tail)) == 0) return nullptr;
        const penstock::Node *child = nodes.data() + parent.first_child;
        for (const penstock::Node *last = child + parent.child_count; child != last; child++) {
            if (((tail ^ child->tail) & child->tail_bits) != 0) continue;
            const uint32_t length = child->key_length + 2;
            if (length <= 8) return child;
            if (length > end || memcmp(bytes + end - length, &child->head, 8) != 0) continue;
            if (length <= 16) return child;
            if (memcmp(bytes + end - length + 1, keys.data() + child->key_offset, child->key_length) == 0) return child;
        }
        return nullptr;
    }

    /// The same for the contents of a key with escapes.
    const penstock::Node *
    find_escaped(const penstock::Node &parent, const uint8_t *contents, uint32_t length) const noexcept {
        const penstock::Node *child = nodes.data() + parent.first_child;
        for (const penstock::Node *last = child + parent.child_count; child != last; child++) {
            const auto *key = reinterpret_cast<const uint8_t *>(keys.data()) + child->key_offset;
            if (penstock::decodes_to(contents, length, key, child->key_length)) return child;
        }
        return nullptr;
    }

    const penstock::Node *find(const penstock::Node &parent, uint32_t index) const noexcept {
        if (!parent.has_indexed_child) return nullptr;
        const penstock::Node *child = nodes.data() + parent.first_child;
        for (const penstock::Node *end = child + parent.child_count; child != end; child++) {
            if (child->index == index) return child;
        }
        return nullptr;
    }
};

#endif
