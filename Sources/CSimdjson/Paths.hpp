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
    /// The children are consecutive in `psj_paths::nodes`.
    uint32_t first_child = 0, child_count = 0;
    /// The key that leads here, in `psj_paths::keys`.
    uint32_t key_offset = 0, key_length = 0;
    /// The array index that leads here, or no_index.
    uint32_t index = no_index;
    /// Ranges of `psj_paths::order`: the paths that end at this node are in first..<own_end, the paths that continue
    /// below it in own_end..<end.
    uint32_t first = 0, own_end = 0, end = 0;
    /// The first and the last eight bytes of the key with its quotes. If it is shorter than eight bytes, `tail` holds
    /// all of it, and `tail_bits` selects its bytes.
    uint64_t head = 0, tail = 0, tail_bits = 0;
    /// The union of the `hint`s of the children's keys. A key whose hint is not in it matches no child.
    uint64_t hints = 0;
    bool has_indexed_child = false;
};

static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "words are compared whose last byte is the highest");

/// Reads the eight bytes before bytes[end]; the last byte is the highest. Bytes before bytes[0] read as zero.
inline uint64_t read_tail(const uint8_t *bytes, uint32_t end) noexcept {
    uint64_t tail = 0;
    if (end >= 8) memcpy(&tail, bytes + end - 8, 8);
    else memcpy(reinterpret_cast<uint8_t *>(&tail) + 8 - end, bytes, end);
    return tail;
}

/// One of 64 bits, chosen by the two characters before a closing quote.
inline uint64_t hint(uint64_t tail) noexcept {
    return uint64_t(1) << (uint16_t(uint16_t(tail >> 40) * 0x9e37u) >> 10);
}

} // namespace penstock

struct psj_paths {
    /// The first node is the root, which is the event itself.
    std::vector<penstock::Node> nodes;
    std::string keys;
    /// The numbers of the paths, sorted so that all paths below one node are consecutive.
    std::vector<uint32_t> order;

    /// Finds the node for a key without escapes whose closing quote is bytes[end - 1]. Returns nullptr if no path leads
    /// there. Reads nothing before bytes[0].
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

    /// As above, for the contents of a key with escapes.
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
