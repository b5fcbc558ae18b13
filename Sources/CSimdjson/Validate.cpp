// Checks that a text is exactly one JSON value.

#include "Escapes.hpp"
#include "Grammar.hpp"

namespace penstock {
namespace {

/// Finds the first escape that JSON's grammar does not allow, or returns nullptr. Half of a surrogate pair is allowed.
const uint8_t *find_invalid_escape(const uint8_t *bytes, const uint8_t *end) noexcept {
    const uint8_t *at = find_backslash(bytes, size_t(end - bytes));
    while (at != nullptr) {
        const Escape escape = read_escape(at, size_t(end - at));
        if (escape.error == EscapeError::invalid) {
            // The second of two escapes may be the invalid one: the first is then half of a pair.
            if (end - at < 6 || read_escape(at, 6).error == EscapeError::invalid) return at;
        }
        at += escape.error == EscapeError::none ? escape.length : 6;
        at = find_backslash(at, size_t(end - at));
    }
    return nullptr;
}

} // namespace
} // namespace penstock

int psj_validate(psj_parser *parser, const uint8_t *bytes, size_t length, size_t max_depth, psj_slice *fault) {
    *fault = {UINT32_MAX, 0};
    if (length > UINT32_MAX) return PSJ_TOO_LARGE;
    penstock::Structurals document{};
    const psj_verdict found = parser->index(bytes, uint32_t(length), document);
    if (found != PSJ_OK) return found;
    if (max_depth > parser->max_depth) max_depth = parser->max_depth;
    penstock::Grammar grammar(document, parser->open.get(), max_depth);
    uint32_t end = grammar.value(0, 0);
    if (end != 0 && end != document.count) end = grammar.fail(document.at[end]);
    if (end == 0) {
        *fault = {grammar.error_offset, grammar.error_offset < length ? 1u : 0u};
        return grammar.error == penstock::GrammarError::depth ? PSJ_TOO_DEEP : PSJ_INVALID_JSON;
    }
    if (const uint8_t *wrong = penstock::find_invalid_escape(bytes, bytes + length)) {
        *fault = {uint32_t(wrong - bytes), 1};
        return PSJ_INVALID_ESCAPE;
    }
    return PSJ_OK;
}
