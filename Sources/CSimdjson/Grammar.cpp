#include "Grammar.hpp"

namespace penstock {

// A loop with a stack of brackets, not a recursion, because the sender chooses the depth.
uint32_t Grammar::container(uint32_t i, size_t depth) noexcept {
    // Local copies: the compiler must assume that a store through `open` changes the members.
    const uint8_t *const bytes = this->bytes;
    const uint32_t *const at = this->at;
    uint8_t *const open = this->open;
    const size_t outside = depth, max_depth = this->max_depth;
    uint8_t bracket = 0;

enter:
    if (depth == max_depth) {
        error = GrammarError::depth;
        error_offset = at[i];
        return 0;
    }
    bracket = bytes[at[i++]];
    open[depth++] = bracket;
    // In ASCII, a closing bracket or brace is two above its opening one.
    if (bytes[at[i]] == bracket + 2) goto leave;
    if (bracket == '[') goto item;

member:
    if (bytes[at[i]] != '"') return fail(at[i]);
    if (bytes[at[i + 1]] != ':') return fail(at[i + 1]);
    i += 2;

item: {
    const uint8_t first = bytes[at[i]];
    if (first == '"') i++;
    else if (first == '{' || first == '[') goto enter;
    else if (scalar(at[i])) i++;
    else return fail(at[i]);
}

next: {
    const uint8_t c = bytes[at[i]];
    if (c == ',') {
        i++;
        if (bracket == '{') goto member;
        goto item;
    }
    if (c != bracket + 2) return fail(at[i]);
}

leave:
    i++;
    if (--depth == outside) return i;
    bracket = open[depth - 1];
    goto next;
}

} // namespace penstock
