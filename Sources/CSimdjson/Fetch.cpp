// Fetches a set of paths from one event: a walk down the trie, from mark to mark. The event was validated when it came
// in, so the walk checks only what it needs to stay in bounds and to terminate.

#include "CSimdjson.h"
#include "Clones.hpp"
#include "Escapes.hpp"
#include "Marks.hpp"
#include "Paths.hpp"

namespace penstock {
namespace {

// The whole walk is inlined into psj_fetch, which is compiled once for each set of vector instructions.
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)

/// An open container that a path leads into.
struct Frame {
    const Node *node;
    uint32_t start; // offset of the opening bracket
    uint32_t item;  // in an array: the number of the next item
};

class Fetch {
public:
    Fetch(const psj_paths &paths, const uint8_t *bytes, uint32_t length, psj_value *values) noexcept
        : paths(paths), bytes(bytes), length(length), values(values), marks(bytes, length) {}

    /// Returns false if these bytes were never validated.
    bool run() noexcept {
        const uint32_t start = behind_space(0);
        if (start == length) return false;
        // A number or a string has no values inside.
        if (!is_opening(bytes[start])) return bytes[start] != '"' || marks.end_of_string(start) != 0;
        uint32_t at;
        if (!marks.next(at) || at != start) return false;
        enter(paths.nodes[0], start);
        while (marks.next(at)) {
            const Frame &frame = frames[depth - 1];
            const uint8_t c = bytes[at];
            if (c == ':') {
                const Node *node = find_key(*frame.node, at);
                if (node && !take(*node, at + 1)) return false;
            } else if (c == ',' || at == frame.start) {
                const Node *node = paths.find(*frame.node, frames[depth - 1].item++);
                if (node && !take(*node, at + 1)) return false;
            } else if (is_opening(c)) {
                if (!skip(at)) return false;
            } else if (is_closing(c)) {
                leave(at);
                if (depth == 0) return true;
            }
        }
        return false;
    }

    /// Whether a later duplicate replaced a value that was found.
    bool saw_duplicates = false;

private:
    const psj_paths &paths;
    const uint8_t *const bytes;
    const uint32_t length;
    psj_value *const values;
    Marks marks;
    uint32_t depth = 0;
    Frame frames[PSJ_PATH_LIMIT + 1];

    static bool is_opening(uint8_t c) noexcept { return (c | 0x20) == '{'; }
    static bool is_closing(uint8_t c) noexcept { return (c | 0x20) == '}'; }
    static bool is_space(uint8_t c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }

    uint32_t behind_space(uint32_t at) const noexcept {
        while (at < length && is_space(bytes[at])) at++;
        return at;
    }

    void enter(const Node &node, uint32_t start) noexcept {
        const bool was_array = depth > 0 && bytes[frames[depth - 1].start] == '[';
        frames[depth++] = {&node, start, 0};
        // The first item of an array follows the bracket as the other items follow their commas. So the bracket is
        // returned a second time.
        const bool is_array = bytes[start] == '[';
        if (is_array != was_array) marks.look_for(is_array ? ',' : ':', start);
        if (is_array) marks.repeat(start);
    }

    void leave(uint32_t at) noexcept {
        const Frame &frame = frames[--depth];
        set_container(*frame.node, frame.start, at);
        if (depth == 0) return;
        const uint8_t outer = bytes[frames[depth - 1].start];
        if (outer != bytes[frame.start]) marks.look_for(outer == '[' ? ',' : ':', at);
    }

    /// Takes the value at `at`, to which the paths of a node lead.
    bool take(const Node &node, uint32_t at) noexcept {
        at = behind_space(at);
        if (at == length) return false;
        const uint8_t c = bytes[at];
        // An empty array.
        if (is_closing(c)) return true;
        forget(node);
        if (c == '"') {
            if (node.first == node.own_end) return true;
            const uint32_t end = marks.end_of_string(at);
            if (end == 0) return false;
            const bool escaped = marks.saw_backslash && find_backslash(bytes + at + 1, end - at - 1);
            set(node, {at + 1, end - at - 1, uint8_t(escaped ? PSJ_ESCAPED_STRING : PSJ_STRING)});
        } else if (is_opening(c)) {
            uint32_t start;
            if (!marks.next(start) || start != at) return false;
            if (node.child_count > 0) {
                enter(node, at);
                return true;
            }
            uint32_t end = at;
            if (!skip(end)) return false;
            set_container(node, at, end);
        } else {
            uint32_t end = at + 1;
            while (end < length && !ends_scalar(bytes[end])) end++;
            set(node, {at, end - at, scalar_type(c)});
        }
        return true;
    }

    /// Skips from the mark that opens a container to the mark that closes it.
    bool skip(uint32_t &at) noexcept {
        uint32_t open = 1;
        while (marks.next(at)) {
            const uint8_t c = bytes[at] | 0x20;
            open += uint32_t(c == '{') - uint32_t(c == '}');
            if (open == 0) return true;
        }
        return false;
    }

    /// Finds the node for the key before a colon. Returns nullptr if no path leads there.
    const Node *find_key(const Node &here, uint32_t colon) const noexcept {
        // The end of the key, after the closing quote. The container's bracket stops the walk back.
        uint32_t end = colon;
        if (bytes[end - 1] != '"') {
            while (is_space(bytes[end - 1])) end--;
            if (bytes[end - 1] != '"') return nullptr;
        }
        if (marks.saw_backslash) {
            const uint32_t start = start_of_contents(end - 1);
            if (find_backslash(bytes + start, end - 1 - start)) {
                return paths.find_escaped(here, bytes + start, end - 1 - start);
            }
        }
        return paths.find(here, bytes, end);
    }

    /// The start of the string that ends with the quote at `quote`.
    uint32_t start_of_contents(uint32_t quote) const noexcept {
        uint32_t start = quote;
        for (; start > 0; start--) {
            if (bytes[start - 1] != '"') continue;
            uint32_t first = start - 1;
            while (first > 0 && bytes[first - 1] == '\\') first--;
            if ((start - 1 - first) % 2 == 0) break;
        }
        return start;
    }

    /// Discards the values that an earlier duplicate of the key left.
    void forget(const Node &node) noexcept {
        for (uint32_t k = node.first; k < node.end; k++) {
            psj_value &value = values[paths.order[k]];
            if (value.type == PSJ_MISSING) continue;
            saw_duplicates = true;
            value = {UINT32_MAX, 0, PSJ_MISSING};
        }
    }

    void set(const Node &node, psj_value value) noexcept {
        for (uint32_t k = node.first; k < node.own_end; k++) values[paths.order[k]] = value;
    }

    void set_container(const Node &node, uint32_t start, uint32_t last) noexcept {
        set(node, {start, last + 1 - start, uint8_t(bytes[start] == '{' ? PSJ_OBJECT : PSJ_ARRAY)});
    }

    static bool ends_scalar(uint8_t c) noexcept { return c == ',' || is_closing(c) || is_space(c); }
};

#pragma clang attribute pop

} // namespace
} // namespace penstock

PENSTOCK_CLONES
int psj_fetch(const psj_paths *paths, const uint8_t *bytes, size_t length, psj_value *values) {
    const auto forget_all = [&] {
        for (size_t i = 0; i < paths->order.size(); i++) values[i] = {UINT32_MAX, 0, PSJ_MISSING};
    };
    forget_all();
    if (length == 0 || length > INT32_MAX) return PSJ_UNREADABLE;
    penstock::Fetch fetch(*paths, bytes, uint32_t(length), values);
    if (fetch.run()) return fetch.saw_duplicates ? PSJ_FETCHED_FROM_DUPLICATES : PSJ_FETCHED;
    forget_all();
    return PSJ_UNREADABLE;
}
