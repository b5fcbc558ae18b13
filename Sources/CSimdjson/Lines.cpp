// Admission of lines: is each line JSON, and is it an event?

#include "Escapes.hpp"
#include "Fields.hpp"
#include "Grammar.hpp"
#include "LineFeeds.hpp"

#include <algorithm>

namespace penstock {
namespace {

/// Checks one line's JSON and fills its psj_event.
class Line {
public:
    /// - start: the event's first byte. The byte after the event is white space: the sentinel that Grammar needs.
    /// - event: its length is known; the rest has the values of an event in which nothing was found.
    Line(psj_parser &parser, const uint8_t *start, psj_event &event) noexcept
        : parser(parser), start(start), event(event) {}

    /// Stores the verdict and the index in `event`.
    void examine() noexcept { finish(check()); }

    /// As above, for a line of a document of many lines. `first` is the number of the structural at `start`, a brace;
    /// `its_backslash` is the line's first backslash, or nullptr. Returns the number of the structural after the line.
    /// Returns 0 and stores nothing if the line is not exactly one valid object.
    uint32_t examine_within(const Structurals &lines, uint32_t first, const uint8_t *its_backslash) noexcept;

private:
    psj_parser &parser;
    const uint8_t *start;
    psj_event &event;
    Structurals document{};
    /// The offset of `start` in the document.
    uint32_t origin = 0;
    const uint8_t *backslash = nullptr;
    /// The structural at which each field's value starts. 0: the field is missing, since structural 0 is the first
    /// event's own brace. A later duplicate overwrites an earlier one.
    uint32_t values[PSJ_FIELD_COUNT] = {};

    psj_verdict check() noexcept;
    void finish(psj_verdict verdict) noexcept;
    uint32_t members(Grammar &grammar, uint32_t i) noexcept;
    psj_field field_at(uint32_t i) const noexcept;

    bool is_present(psj_field field) const noexcept {
        return values[field] != 0 && document[values[field]] != 'n';
    }
    bool is_string(psj_field field) const noexcept { return values[field] != 0 && document[values[field]] == '"'; }
    /// An empty string: its closing quote follows its opening one.
    bool is_empty(psj_field field) const noexcept {
        return is_string(field) && document.bytes[document.at[values[field]] + 1] == '"';
    }
    /// A string that is not empty.
    bool has_text(psj_field field) const noexcept {
        return is_string(field) && document.bytes[document.at[values[field]] + 1] != '"';
    }
    bool has_escape(psj_slice text) const noexcept {
        return backslash && find_backslash(document.bytes + text.offset, text.length);
    }

    /// Copies the place of the field's contents to the event, if the field is a string.
    void publish(psj_field field, psj_slice &slot, uint8_t escaped) noexcept {
        if (!is_string(field)) return;
        const psj_slice text = document.string(values[field]);
        if (escaped != 0 && has_escape(text)) event.flags |= escaped;
        slot = {text.offset - origin, text.length};
    }

    /// As above, but an empty id counts as absent.
    void publish_id(psj_field field, psj_slice &slot, uint8_t escaped) noexcept {
        if (is_empty(field)) event.flags |= PSJ_HAS_EMPTY_ID;
        else publish(field, slot, escaped);
    }

    psj_verdict refuse(psj_verdict verdict, psj_field field) noexcept {
        event.field = field;
        if (const uint32_t i = values[field]) event.fault = {document.at[i] - origin, document.end(i) - document.at[i]};
        return verdict;
    }

    psj_verdict judge() noexcept;
    psj_verdict judge_ids() noexcept;
    psj_verdict judge_rest() noexcept;
    bool is_message_id_too_long() const noexcept;
    psj_kind find_own_kind() const noexcept;
    bool has_context_traits() const noexcept;
};

uint32_t Line::examine_within(const Structurals &lines, uint32_t first, const uint8_t *its_backslash) noexcept {
    document = lines;
    origin = lines.at[first];
    backslash = its_backslash;
    Grammar grammar(document, parser.open.get(), parser.max_depth);
    const uint32_t end = members(grammar, first + 1);
    // An object that ends elsewhere has a line feed inside, or something else after it.
    if (end == 0 || document.at[end - 1] != origin + event.length - 1) return 0;
    EscapeError error = EscapeError::none;
    if (find_wrong_escape(backslash, start + event.length, error)) return 0;
    finish(judge());
    return end;
}

psj_verdict Line::check() noexcept {
    const uint32_t length = event.length;
    const psj_verdict found = parser.index(start, length, document);
    if (found != PSJ_OK) return found;
    backslash = find_backslash(start, length);

    Grammar grammar(document, parser.open.get(), parser.max_depth);
    const bool is_object = document[0] == '{';
    uint32_t end = is_object ? members(grammar, 1) : grammar.value(0, 0);
    if (end != 0 && end != document.count) end = grammar.fail(document.at[end]);
    if (end == 0) {
        event.fault = {grammar.error_offset, grammar.error_offset < length ? 1u : 0u};
        return grammar.error == GrammarError::depth ? PSJ_TOO_DEEP : PSJ_INVALID_JSON;
    }
    EscapeError error = EscapeError::none;
    if (const uint8_t *wrong = find_wrong_escape(backslash, start + length, error)) {
        event.fault = {uint32_t(wrong - start), 1};
        return error == EscapeError::invalid ? PSJ_INVALID_ESCAPE : PSJ_LONE_SURROGATE;
    }
    return is_object ? judge() : PSJ_NOT_AN_OBJECT;
}

void Line::finish(psj_verdict verdict) noexcept {
    event.verdict = verdict;
    // A rejection names the message id. The id is missing if the grammar failed before it.
    publish(PSJ_FIELD_MESSAGE_ID, event.message_id, PSJ_MESSAGE_ID_ESCAPED);
}

/// Checks the whole object, whose first structural inside its braces is i, and records the fields. Returns the same as
/// Grammar::value.
uint32_t Line::members(Grammar &grammar, uint32_t i) noexcept {
    const uint8_t *bytes = document.bytes;
    const uint32_t *at = document.at;
    if (bytes[at[i]] == '}') return i + 1;
    while (true) {
        if (bytes[at[i]] != '"') return grammar.fail(at[i]);
        if (bytes[at[i + 1]] != ':') return grammar.fail(at[i + 1]);
        values[field_at(i)] = i + 2;
        i = grammar.value(i + 2, 1);
        if (i == 0) return 0;
        const uint8_t c = bytes[at[i]];
        i++;
        if (c == ',') continue;
        return c == '}' ? i : grammar.fail(at[i - 1]);
    }
}

psj_field Line::field_at(uint32_t i) const noexcept {
    const psj_slice key = document.string(i);
    const uint8_t *text = document.bytes + key.offset;
    if (!has_escape(key)) return find_field(text, key.length);
    const size_t decoded = psj_unescape(text, key.length, parser.key.get());
    return decoded > longest_field_name ? PSJ_FIELD_NONE : find_field(parser.key.get(), uint32_t(decoded));
}

psj_kind Line::find_own_kind() const noexcept {
    if (!is_string(PSJ_FIELD_TYPE)) return PSJ_KIND_NONE;
    const psj_slice text = document.string(values[PSJ_FIELD_TYPE]);
    if (!has_escape(text)) return find_kind(document.bytes + text.offset, text.length);
    const size_t decoded = psj_unescape(document.bytes + text.offset, text.length, parser.key.get());
    return decoded > longest_field_name ? PSJ_KIND_NONE : find_kind(parser.key.get(), uint32_t(decoded));
}

psj_verdict Line::judge() noexcept {
    const psj_kind kind = find_own_kind();
    if (kind == PSJ_KIND_NONE) return refuse(PSJ_UNKNOWN_TYPE, PSJ_FIELD_TYPE);
    event.kind = kind;
    if (kind == PSJ_TRACK) {
        if (is_present(PSJ_FIELD_EVENT) && !is_string(PSJ_FIELD_EVENT)) {
            return refuse(PSJ_EVENT_NOT_STRING, PSJ_FIELD_EVENT);
        }
        if (!has_text(PSJ_FIELD_EVENT)) return refuse(PSJ_EVENT_NOT_DEFINED, PSJ_FIELD_EVENT);
        publish(PSJ_FIELD_EVENT, event.event, PSJ_EVENT_ESCAPED);
    } else if (is_present(PSJ_FIELD_EVENT)) {
        event.flags |= PSJ_HAS_OTHER_VALUES;
    }
    const psj_verdict ids = judge_ids();
    if (ids != PSJ_OK) return ids;
    publish_id(PSJ_FIELD_USER_ID, event.user_id, PSJ_USER_ID_ESCAPED);
    publish_id(PSJ_FIELD_ANONYMOUS_ID, event.anonymous_id, PSJ_ANONYMOUS_ID_ESCAPED);
    if (is_empty(PSJ_FIELD_GROUP_ID) || is_empty(PSJ_FIELD_PREVIOUS_ID)) event.flags |= PSJ_HAS_EMPTY_ID;
    if (values[PSJ_FIELD_INTEGRATIONS] != 0) event.flags |= PSJ_HAS_INTEGRATIONS;
    return judge_rest();
}

psj_verdict Line::judge_ids() noexcept {
    for (const psj_field id : {PSJ_FIELD_USER_ID, PSJ_FIELD_ANONYMOUS_ID, PSJ_FIELD_GROUP_ID, PSJ_FIELD_PREVIOUS_ID,
                               PSJ_FIELD_MESSAGE_ID}) {
        if (is_present(id) && !is_string(id)) return refuse(PSJ_ID_NOT_STRING, id);
    }
    if (event.kind == PSJ_GROUP && !has_text(PSJ_FIELD_GROUP_ID)) {
        return refuse(PSJ_GROUP_ID_NOT_DEFINED, PSJ_FIELD_GROUP_ID);
    }
    if (event.kind == PSJ_ALIAS) {
        for (const psj_field id : {PSJ_FIELD_USER_ID, PSJ_FIELD_PREVIOUS_ID}) {
            if (!has_text(id)) return refuse(PSJ_ALIAS_IDS_NOT_DEFINED, id);
        }
    }
    if (!has_text(PSJ_FIELD_USER_ID) && !has_text(PSJ_FIELD_ANONYMOUS_ID)) {
        const bool has_empty_user = is_empty(PSJ_FIELD_USER_ID) || !is_empty(PSJ_FIELD_ANONYMOUS_ID);
        return refuse(PSJ_NO_USER_ANON_ID, has_empty_user ? PSJ_FIELD_USER_ID : PSJ_FIELD_ANONYMOUS_ID);
    }
    return is_message_id_too_long() ? refuse(PSJ_MESSAGE_ID_TOO_LONG, PSJ_FIELD_MESSAGE_ID) : PSJ_OK;
}

psj_verdict Line::judge_rest() noexcept {
    const bool has_properties = event.kind == PSJ_TRACK || event.kind == PSJ_PAGE || event.kind == PSJ_SCREEN;
    const bool has_traits = event.kind == PSJ_IDENTIFY || event.kind == PSJ_GROUP;
    const bool has_name = event.kind == PSJ_PAGE || event.kind == PSJ_SCREEN;
    const auto is_wrong = [this](psj_field field, uint8_t first) {
        return is_present(field) && document[values[field]] != first;
    };
    if (has_properties && is_wrong(PSJ_FIELD_PROPERTIES, '{')) {
        return refuse(PSJ_PROPERTIES_NOT_OBJECT, PSJ_FIELD_PROPERTIES);
    }
    if (has_traits && is_wrong(PSJ_FIELD_TRAITS, '{')) return refuse(PSJ_TRAITS_NOT_OBJECT, PSJ_FIELD_TRAITS);
    if (is_wrong(PSJ_FIELD_CONTEXT, '{')) return refuse(PSJ_CONTEXT_NOT_OBJECT, PSJ_FIELD_CONTEXT);
    if (has_name && is_wrong(PSJ_FIELD_NAME, '"')) return refuse(PSJ_NAME_NOT_STRING, PSJ_FIELD_NAME);
    for (const psj_field time : {PSJ_FIELD_TIMESTAMP, PSJ_FIELD_SENT_AT}) {
        if (is_wrong(time, '"')) return refuse(PSJ_TIMESTAMP_NOT_STRING, time);
    }
    publish(PSJ_FIELD_TIMESTAMP, event.timestamp, 0);
    publish(PSJ_FIELD_SENT_AT, event.sent_at, 0);
    if (event.kind == PSJ_IDENTIFY && !is_present(PSJ_FIELD_TRAITS) && has_context_traits()) {
        event.flags |= PSJ_HAS_CONTEXT_TRAITS;
    }
    return PSJ_OK;
}

bool Line::has_context_traits() const noexcept {
    if (!is_present(PSJ_FIELD_CONTEXT)) return false;
    bool found = false;
    // From the first structural inside the context's braces to the one that closes them.
    uint32_t depth = 1;
    for (uint32_t i = values[PSJ_FIELD_CONTEXT] + 1; depth > 0; i++) {
        const uint8_t c = document[i];
        if (c == '{' || c == '[') depth++;
        else if (c == '}' || c == ']') depth--;
        // Only a key is followed by a colon. The last duplicate counts.
        else if (depth == 1 && c == '"' && document[i + 1] == ':' && field_at(i) == PSJ_FIELD_TRAITS) {
            found = document[i + 2] == '{';
        }
    }
    return found;
}

bool Line::is_message_id_too_long() const noexcept {
    if (!is_string(PSJ_FIELD_MESSAGE_ID)) return false;
    psj_slice text = document.string(values[PSJ_FIELD_MESSAGE_ID]);
    // Every character takes at least one byte, escaped or not.
    if (text.length <= PSJ_MESSAGE_ID_LIMIT) return false;
    const uint8_t *decoded = document.bytes + text.offset;
    if (has_escape(text)) {
        text.length = uint32_t(psj_unescape(decoded, text.length, parser.key.get()));
        decoded = parser.key.get();
    }
    uint32_t characters = 0;
    for (uint32_t k = 0; k < text.length; k++) characters += (decoded[k] & 0xc0) != 0x80;
    return characters > PSJ_MESSAGE_ID_LIMIT;
}

/// Examines lines whose structurals are found in one run of the first stage: quicker than a run for each of them.
///
/// This stage treats a line feed as white space, so the lines are one document to it. As long as each line is exactly
/// one valid object, the next one has the structurals that it would have alone. At the first line that is not, this
/// function stops: that line and those behind it are examined alone. The time is then at most twice that of good lines.
///
/// Returns the number of lines that were examined.
size_t examine_together(psj_parser &parser, const uint8_t *bytes, psj_event *events, size_t count, bool may_escape) {
    const psj_event &last = events[count - 1];
    const uint8_t *const base = bytes + events[0].offset, *const end = bytes + last.offset + last.length;
    Structurals document{};
    if (parser.index(base, uint32_t(end - base), document) != PSJ_OK) return 0;
    const uint8_t *backslash = may_escape ? find_backslash(base, size_t(end - base)) : nullptr;
    uint32_t first = 0;
    for (size_t k = 0; k < count; k++) {
        const uint8_t *const start = bytes + events[k].offset, *const behind = start + events[k].length;
        if (*start != '{' || document.at[first] != uint32_t(start - base)) return k;
        if (backslash && backslash < start) backslash = find_backslash(start, size_t(end - start));
        const bool escapes = backslash && backslash < behind;
        first = Line(parser, start, events[k]).examine_within(document, first, escapes ? backslash : nullptr);
        if (first == 0) return k;
    }
    return count;
}

void examine(psj_parser &parser, const uint8_t *bytes, psj_event *events, size_t count, bool may_escape) {
    size_t k = count > 1 ? examine_together(parser, bytes, events, count, may_escape) : 0;
    for (; k < count; k++) Line(parser, bytes + events[k].offset, events[k]).examine();
}

constexpr psj_slice absent{UINT32_MAX, 0};

} // namespace
} // namespace penstock

size_t psj_scan_lines(psj_parser *parser, const uint8_t *bytes, size_t length, size_t max_event, psj_event *out,
                      size_t capacity, size_t *consumed, size_t *lines) {
    using namespace penstock;
    // Offsets have 32 bits. Bytes beyond that are left for the next call.
    if (length > UINT32_MAX) length = UINT32_MAX;
    // So many bytes of lines are examined together: few enough that their structurals stay in the processor's cache,
    // that the parser has room for them, and that no line among them is too long.
    const size_t together = std::min({size_t(32768), max_event, parser->library->capacity()});
    size_t at = 0, count = 0, passed = 0;
    LineFeeds feeds;
    while (at < length && count < capacity) {
        const size_t left = length - at, room = std::min(capacity - count, size_t(LineFeeds::most));
        find_line_feeds(bytes + at, std::min(left, together), uint32_t(room), feeds);
        if (feeds.count == 0) {
            if (left <= together) break;
            const auto *feed = static_cast<const uint8_t *>(memchr(bytes + at + together, '\n', left - together));
            if (!feed) break;
            feeds.offsets[feeds.count++] = uint32_t(feed - bytes - at);
            feeds.may_escape = true;
        }
        const size_t examined = count, base = at;
        for (uint32_t k = 0; k < feeds.count; k++) {
            size_t start = at, end = base + feeds.offsets[k];
            at = end + 1;
            passed++;
            while (start < end && Structurals::is_space(bytes[start])) start++;
            while (end > start && Structurals::is_space(bytes[end - 1])) end--;
            if (start == end) continue;
            out[count++] = {uint32_t(start), uint32_t(end - start), uint32_t(passed - 1), PSJ_KIND_NONE, 0,
                            PSJ_TOO_LARGE, PSJ_FIELD_NONE, absent, absent, absent, absent, absent, absent, absent};
        }
        // Only a line by itself can be too long.
        if (count == examined || out[examined].length > max_event) continue;
        examine(*parser, bytes, out + examined, count - examined, feeds.may_escape);
    }
    *consumed = at;
    *lines = passed;
    return count;
}
