// A set of paths, compiled to a trie.
#ifndef PENSTOCK_PATHS_HPP
#define PENSTOCK_PATHS_HPP

#include "CSimdjson.h"

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
    /// One bit for each child's key, see `mark`: what has none is not looked for.
    uint64_t marks = 0;
    bool has_indexed_child = false;
};

/// One of 64 bits that a key falls on.
inline uint64_t mark(const uint8_t *key, size_t length) noexcept {
    return uint64_t(1) << ((length ^ (length ? key[length - 1] * 5u : 0u)) & 63);
}

} // namespace penstock

struct psj_paths {
    /// The first is the root: the event itself.
    std::vector<penstock::Node> nodes;
    std::string keys;
    /// The paths' numbers, so that those below one node lie in a row.
    std::vector<uint32_t> order;

    /// nullptr: no path leads there.
    const penstock::Node *find(const penstock::Node &parent, const uint8_t *key, uint32_t length) const noexcept {
        if ((parent.marks & penstock::mark(key, length)) == 0) return nullptr;
        const penstock::Node *child = nodes.data() + parent.first_child;
        for (const penstock::Node *end = child + parent.child_count; child != end; child++) {
            if (child->key_length == length && memcmp(keys.data() + child->key_offset, key, length) == 0) return child;
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
