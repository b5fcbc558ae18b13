// A set of paths from one event: the first stage, then a walk down the trie. The event was
// validated when it came in, so the walk checks only what it needs to stay in bounds.

#include "Escapes.hpp"
#include "Parser.hpp"
#include "Paths.hpp"

namespace penstock {
namespace {

class Fetch {
public:
    Fetch(psj_parser &parser, const psj_paths &paths, const Structurals &document, psj_value *values) noexcept
        : parser(parser), paths(paths), document(document), values(values),
          backslash(find_backslash(document.bytes, document.length) != nullptr) {}

    /// false: these bytes were never validated.
    bool run() noexcept {
        // A number or a string has nothing below it.
        if (!is_opening(document[0])) return true;
        if (!enter(0, 0)) return false;
        uint32_t i = 1;
        if (i < document.count && is_closing(document[i])) return true;
        while (depth > 0) {
            if (!step(i)) return false;
        }
        return true;
    }

    /// Whether a value that was found had to give way to a later one of the same name.
    bool saw_duplicates() const noexcept { return duplicates; }

private:
    psj_parser &parser;
    const psj_paths &paths;
    const Structurals &document;
    psj_value *values;
    const bool backslash;
    size_t depth = 0;
    bool duplicates = false;

    static bool is_opening(uint8_t c) noexcept { return (c | 0x20) == '{'; }
    static bool is_closing(uint8_t c) noexcept { return (c | 0x20) == '}'; }

    bool enter(uint32_t node, uint32_t i) noexcept {
        if (depth == parser.max_depth) return false;
        parser.frames[depth++] = {node, document.at[i], 0, document[i] == '['};
        return true;
    }

    /// One member or item of the innermost container, from structural i, and the comma or the
    /// closing brackets behind it.
    bool step(uint32_t &i) noexcept {
        Frame &frame = parser.frames[depth - 1];
        const Node &here = paths.nodes[frame.node];
        const Node *node;
        if (frame.is_array) {
            node = paths.find(here, frame.item++);
        } else {
            if (i + 2 >= document.count) return false;
            node = find_key(here, document.string(i));
            i += 2;
        }
        if (i >= document.count) return false;

        if (node) forget(*node);
        if (!is_opening(document[i])) {
            if (node) set_scalar(*node, i);
            i++;
        } else if (node && node->child_count > 0) {
            if (!enter(uint32_t(node - paths.nodes.data()), i)) return false;
            i++;
            if (i < document.count && !is_closing(document[i])) return true;
        } else {
            const uint32_t start = i;
            i = skip(i);
            if (node) set_container(*node, document.at[start], i - 1);
        }
        return leave(i);
    }

    /// Takes the comma, or the closing brackets and then the comma, at structural i.
    bool leave(uint32_t &i) noexcept {
        while (i < document.count) {
            const uint8_t c = document[i];
            if (c == ',') {
                i++;
                return true;
            }
            if (!is_closing(c)) return false;
            const Frame &frame = parser.frames[--depth];
            set_container(paths.nodes[frame.node], frame.start, i);
            i++;
            if (depth == 0) return true;
        }
        return false;
    }

    const Node *find_key(const Node &here, psj_slice key) noexcept {
        const uint8_t *text = document.bytes + key.offset;
        if (backslash && find_backslash(text, key.length)) {
            const size_t decoded = psj_unescape(text, key.length, parser.key.get());
            return decoded == SIZE_MAX ? nullptr : paths.find(here, parser.key.get(), uint32_t(decoded));
        }
        return paths.find(here, text, key.length);
    }

    /// The structural behind the container at structural i.
    uint32_t skip(uint32_t i) const noexcept {
        int64_t open = 0;
        do {
            const uint8_t c = document[i++] | 0x20;
            open += int(c == '{') - int(c == '}');
        } while (open > 0 && i < document.count);
        return i;
    }

    /// What an earlier duplicate of the key left behind.
    void forget(const Node &node) noexcept {
        for (uint32_t k = node.first; k < node.end; k++) {
            psj_value &value = values[paths.order[k]];
            if (value.type == PSJ_MISSING) continue;
            duplicates = true;
            value = {UINT32_MAX, 0, PSJ_MISSING};
        }
    }

    void set(const Node &node, psj_value value) noexcept {
        for (uint32_t k = node.first; k < node.own_end; k++) values[paths.order[k]] = value;
    }

    void set_container(const Node &node, uint32_t start, uint32_t last) noexcept {
        const uint8_t type = document.bytes[start] == '{' ? PSJ_OBJECT : PSJ_ARRAY;
        set(node, {start, document.at[last] + 1 - start, type});
    }

    void set_scalar(const Node &node, uint32_t i) noexcept {
        if (node.first == node.own_end) return;
        if (document[i] == '"') {
            const psj_slice text = document.string(i);
            const bool escaped = backslash && find_backslash(document.bytes + text.offset, text.length);
            set(node, {text.offset, text.length, uint8_t(escaped ? PSJ_ESCAPED_STRING : PSJ_STRING)});
            return;
        }
        set(node, {document.at[i], document.end(i) - document.at[i], type_of(document[i])});
    }

    static uint8_t type_of(uint8_t first) noexcept {
        switch (first) {
        case 'n': return PSJ_NULL;
        case 't': return PSJ_TRUE;
        case 'f': return PSJ_FALSE;
        default: return PSJ_NUMBER;
        }
    }
};

} // namespace
} // namespace penstock

int psj_fetch(psj_parser *parser, const psj_paths *paths, const uint8_t *bytes, size_t length, psj_value *values) {
    const auto forget_all = [&] {
        for (size_t i = 0; i < paths->order.size(); i++) values[i] = {UINT32_MAX, 0, PSJ_MISSING};
    };
    forget_all();
    penstock::Structurals document{};
    if (length > UINT32_MAX || parser->index(bytes, uint32_t(length), document) || document.count == 0) return 1;
    penstock::Fetch fetch(*parser, *paths, document, values);
    if (fetch.run()) return fetch.saw_duplicates() ? 2 : 0;
    forget_all();
    return 1;
}
