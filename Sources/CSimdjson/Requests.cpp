// Finds the parts of a tracking request's body in one pass, from mark to mark: the fields that a batch shares, its
// items, and the few fields of an item that a request adds or removes. Strings are not read, and a container that no
// field needs is passed over by its brackets.
//
// The bytes need not be valid. The pass checks only what it needs to stay in bounds, to terminate, and to divide a
// batch exactly at its commas; see the header for what the caller can conclude from that.

#include "CSimdjson.h"
#include "Clones.hpp"
#include "Escapes.hpp"
#include "Marks.hpp"

namespace penstock {
namespace {

constexpr psj_value missing{UINT32_MAX, 0, PSJ_MISSING};

// The whole pass is inlined into the functions below, which are compiled once for each set of vector instructions.
#pragma clang attribute push(__attribute__((always_inline)), apply_to = function)

class Request {
public:
    Request(const uint8_t *bytes, uint32_t length) noexcept : bytes(bytes), length(length), marks(bytes, length) {}

    /// The room for the items of a batch, and their number.
    psj_request_object *items = nullptr;
    size_t capacity = 0, count = 0;

    /// Reads the whole body, which is one object.
    template <bool is_batch> bool whole(psj_request_object &object) noexcept {
        const uint32_t start = behind_space(0);
        if (start == length || bytes[start] != '{' || !reaches(start)) return false;
        return members<is_batch>(start, object) && behind_space(start + object.length) == length;
    }

    /// Reads every member of the object that is all of the bytes.
    bool all_members(psj_member *out, size_t &found) noexcept {
        found = 0;
        if (bytes[0] != '{' || !reaches(0)) return false;
        uint32_t at;
        while (marks.next(at)) {
            const uint8_t c = bytes[at];
            if (c == '}') return at + 1 == length;
            if (c != ':' || found == capacity) return false;
            const uint32_t end = end_of_key(at);
            if (end == 0) return false;
            psj_member &member = out[found++];
            const uint32_t start = start_of_contents(end - 1);
            member.key = {start, end - 1 - start};
            if (!take(member.value, at + 1)) return false;
        }
        return false;
    }

private:
    const uint8_t *const bytes;
    const uint32_t length;
    Marks marks;
    /// Takes the place of an item for which there is no room.
    psj_request_object surplus;

    static bool is_opening(uint8_t c) noexcept { return (c | 0x20) == '{'; }
    static bool is_closing(uint8_t c) noexcept { return (c | 0x20) == '}'; }
    static bool is_space(uint8_t c) noexcept { return c == ' ' || c == '\t' || c == '\n' || c == '\r'; }
    static bool ends_scalar(uint8_t c) noexcept { return c == ',' || c == ':' || is_closing(c) || is_space(c); }

    uint32_t behind_space(uint32_t at) const noexcept {
        while (at < length && is_space(bytes[at])) at++;
        return at;
    }

    /// Whether the next mark is at `at`.
    bool reaches(uint32_t at) noexcept {
        uint32_t mark;
        return marks.next(mark) && mark == at;
    }

    /// Reads the fields of the object whose brace is the last mark, up to its end.
    template <bool is_batch> bool members(uint32_t start, psj_request_object &object) noexcept {
        object = {start, 0, missing, missing, missing, missing, missing, missing};
        uint32_t at;
        while (marks.next(at)) {
            const uint8_t c = bytes[at];
            if (c == ':') {
                psj_value *field = find_field(object, at);
                if (field == nullptr) continue;
                const bool is_divided = is_batch && field == &object.batch;
                if (!(is_divided ? divide(*field, at + 1) : take(*field, at + 1))) return false;
            } else if (is_opening(c)) {
                if (!skip(at)) return false;
            } else if (is_closing(c)) {
                object.length = at + 1 - start;
                return true;
            }
        }
        return false;
    }

    /// Reads the array of a batch.
    bool divide(psj_value &value, uint32_t at) noexcept {
        count = 0;
        const uint32_t start = behind_space(at);
        if (start == length || bytes[start] != '[') return take(value, start);
        if (!reaches(start)) return false;
        at = behind_space(start + 1);
        if (at == length) return false;
        if (bytes[at] != ']') {
            while (true) {
                psj_request_object &item = count < capacity ? items[count] : surplus;
                if (!read_item(at, item)) return false;
                count++;
                at = behind_space(item.offset + item.length);
                if (at == length) return false;
                if (bytes[at] == ']') break;
                if (bytes[at] != ',') return false;
                at = behind_space(at + 1);
            }
        }
        if (!reaches(at)) return false;
        value = {start, at + 1 - start, PSJ_ARRAY};
        return true;
    }

    bool read_item(uint32_t at, psj_request_object &item) noexcept {
        if (at == length) return false;
        if (bytes[at] == '{') return reaches(at) && members<false>(at, item);
        psj_value value;
        if (!take(value, at)) return false;
        const uint32_t quotes = bytes[at] == '"' ? 2 : 0;
        item = {at, value.length + quotes, missing, missing, missing, missing, missing, missing};
        return true;
    }

    /// Takes the value at `at`, after white space.
    bool take(psj_value &value, uint32_t at) noexcept {
        at = behind_space(at);
        if (at == length) return false;
        const uint8_t c = bytes[at];
        if (c == '"') {
            const uint32_t end = marks.end_of_string(at);
            if (end == 0) return false;
            const bool escaped = marks.saw_backslash && find_backslash(bytes + at + 1, end - at - 1);
            value = {at + 1, end - at - 1, uint8_t(escaped ? PSJ_ESCAPED_STRING : PSJ_STRING)};
            return true;
        }
        if (is_opening(c)) {
            if (!reaches(at)) return false;
            uint32_t end = at;
            if (!skip(end)) return false;
            value = {at, end + 1 - at, uint8_t(c == '{' ? PSJ_OBJECT : PSJ_ARRAY)};
            return true;
        }
        uint32_t end = at;
        while (end < length && !ends_scalar(bytes[end])) end++;
        value = {at, end - at, scalar_type(c)};
        return end > at;
    }

    /// Skips from the mark that opens a container to the mark that closes it.
    bool skip(uint32_t &at) noexcept {
        uint32_t open = 1;
        // A brace is a mark anyway, so colons are passed over.
        marks.look_for('{', at);
        while (marks.next(at)) {
            const uint8_t c = bytes[at] | 0x20;
            open += uint32_t(c == '{') - uint32_t(c == '}');
            if (open != 0) continue;
            marks.look_for(':', at);
            return true;
        }
        return false;
    }

    /// The end of the key before a colon, after its closing quote; 0 if there is no key.
    uint32_t end_of_key(uint32_t colon) const noexcept {
        // The brace that opened the object ends the loop.
        while (is_space(bytes[colon - 1])) colon--;
        return bytes[colon - 1] == '"' ? colon : 0;
    }

    /// Finds the field of a key before a colon, or returns nullptr.
    psj_value *find_field(psj_request_object &object, uint32_t colon) const noexcept {
        const uint32_t end = end_of_key(colon);
        if (end == 0) return nullptr;
        if (marks.saw_backslash) {
            const uint32_t start = start_of_contents(end - 1);
            if (find_backslash(bytes + start, end - 1 - start)) return find_escaped(object, start, end - 1 - start);
        }
        // The key's opening quote tells its length.
        const auto is = [this, end](const auto &key) {
            constexpr uint32_t size = sizeof key - 1;
            return end > size && memcmp(bytes + end - size, key, size) == 0;
        };
        switch (bytes[end - 2]) {
        case 'e': return is("\"type\"") ? &object.type : nullptr;
        case 't': return is("\"context\"") ? &object.context : is("\"sentAt\"") ? &object.sent_at : nullptr;
        case 's': return is("\"integrations\"") ? &object.integrations : nullptr;
        case 'y': return is("\"writeKey\"") ? &object.write_key : nullptr;
        case 'h': return is("\"batch\"") ? &object.batch : nullptr;
        default: return nullptr;
        }
    }

    psj_value *find_escaped(psj_request_object &object, uint32_t start, uint32_t size) const noexcept {
        const auto is = [this, start, size](const auto &key) {
            return decodes_to(bytes + start, size, reinterpret_cast<const uint8_t *>(key), sizeof key - 1);
        };
        if (is("type")) return &object.type;
        if (is("context")) return &object.context;
        if (is("integrations")) return &object.integrations;
        if (is("sentAt")) return &object.sent_at;
        if (is("writeKey")) return &object.write_key;
        return is("batch") ? &object.batch : nullptr;
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
};

#pragma clang attribute pop

} // namespace
} // namespace penstock

// The next two loops have no early exit, so that the compiler can use vector instructions.

PENSTOCK_CLONES
int psj_has_line_break(const uint8_t *bytes, size_t length) {
    uint8_t found = 0;
    for (size_t i = 0; i < length; i++) found |= uint8_t(bytes[i] - '\n') <= '\r' - '\n';
    return found;
}

PENSTOCK_CLONES
void psj_replace_line_breaks(uint8_t *bytes, size_t length) {
    for (size_t i = 0; i < length; i++) bytes[i] = uint8_t(bytes[i] - '\n') <= '\r' - '\n' ? ' ' : bytes[i];
}

PENSTOCK_CLONES
int psj_index_event(const uint8_t *bytes, size_t length, psj_request_object *event) {
    if (length == 0 || length > INT32_MAX) return 0;
    penstock::Request request(bytes, uint32_t(length));
    return request.whole<false>(*event);
}

PENSTOCK_CLONES
int psj_index_batch(const uint8_t *bytes, size_t length, psj_request_object *envelope, psj_request_object *items,
                    size_t capacity, size_t *count) {
    *count = 0;
    if (length == 0 || length > INT32_MAX) return 0;
    penstock::Request request(bytes, uint32_t(length));
    request.items = items;
    request.capacity = capacity;
    const bool read = request.whole<true>(*envelope);
    if (read) *count = request.count;
    return read;
}

PENSTOCK_CLONES
int psj_list_members(const uint8_t *bytes, size_t length, psj_member *out, size_t capacity, size_t *count) {
    *count = 0;
    if (length == 0 || length > INT32_MAX) return 0;
    penstock::Request request(bytes, uint32_t(length));
    request.capacity = capacity;
    return request.all_members(out, *count);
}
