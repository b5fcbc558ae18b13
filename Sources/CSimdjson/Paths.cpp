#include "Paths.hpp"

#include <algorithm>
#include <memory>

namespace penstock {
namespace {

using Segments = std::vector<std::string_view>;

/// Returns the array index that a segment names, or no_index.
uint32_t parse_index(std::string_view segment) noexcept {
    if (segment.empty() || segment.size() > 9 || (segment[0] == '0' && segment.size() > 1)) return no_index;
    uint32_t index = 0;
    for (const char c : segment) {
        if (c < '0' || c > '9') return no_index;
        index = index * 10 + uint32_t(c - '0');
    }
    return index;
}

/// Appends the children of nodes[parent], whose paths share their first `level` segments.
void add_children(psj_paths &made, const std::vector<Segments> &paths, uint32_t parent, size_t level) {
    const Node above = made.nodes[parent];
    uint32_t i = above.first;
    while (i < above.end && paths[made.order[i]].size() == level) i++;
    made.nodes[parent].own_end = i;
    made.nodes[parent].first_child = uint32_t(made.nodes.size());
    while (i < above.end) {
        const std::string_view key = paths[made.order[i]][level];
        Node child;
        child.first = i;
        while (i < above.end && paths[made.order[i]][level] == key) i++;
        child.end = i;
        child.key_offset = uint32_t(made.keys.size());
        child.key_length = uint32_t(key.size());
        child.index = parse_index(key);
        made.keys += key;
        const std::string quoted = '"' + std::string(key) + '"';
        const auto *text = reinterpret_cast<const uint8_t *>(quoted.data());
        const size_t length = quoted.size();
        child.tail = read_tail(text, uint32_t(length));
        child.tail_bits = length < 8 ? ~uint64_t(0) << (64 - 8 * length) : ~uint64_t(0);
        if (length > 8) memcpy(&child.head, text, 8);
        made.nodes.push_back(child);
        Node &node = made.nodes[parent];
        node.child_count++;
        // Any byte may precede the quotes of an empty key.
        node.hints |= key.empty() ? ~uint64_t(0) : hint(child.tail);
        node.has_indexed_child |= child.index != no_index;
    }
}

std::unique_ptr<psj_paths> compile(const std::vector<Segments> &paths) {
    auto made = std::make_unique<psj_paths>();
    for (uint32_t i = 0; i < paths.size(); i++) made->order.push_back(i);
    // A path that is a prefix of another one comes before it.
    std::sort(made->order.begin(), made->order.end(),
                     [&](uint32_t a, uint32_t b) { return paths[a] < paths[b]; });
    Node root;
    root.end = uint32_t(paths.size());
    made->nodes.push_back(root);
    // Level by level, so that each node's children are consecutive.
    size_t level_end = 1;
    for (size_t node = 0, level = 0; node < made->nodes.size(); node++) {
        if (node == level_end) {
            level++;
            level_end = made->nodes.size();
        }
        add_children(*made, paths, uint32_t(node), level);
    }
    return made;
}

} // namespace
} // namespace penstock

psj_paths *psj_paths_create(const uint8_t *text, const uint32_t *lengths, const uint32_t *counts, size_t path_count) {
    try {
        const char *segment = reinterpret_cast<const char *>(text);
        std::vector<penstock::Segments> paths(path_count);
        for (size_t i = 0; i < path_count; i++) {
            if (counts[i] > PSJ_PATH_LIMIT) return nullptr;
            for (uint32_t k = 0; k < counts[i]; k++) {
                paths[i].emplace_back(segment, *lengths);
                segment += *lengths++;
            }
        }
        return penstock::compile(paths).release();
    } catch (...) {
        // Only memory can run out here. C callers cannot handle exceptions.
        return nullptr;
    }
}

void psj_paths_destroy(psj_paths *paths) { delete paths; }
