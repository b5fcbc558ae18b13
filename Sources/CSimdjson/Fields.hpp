// The top-level fields that admission looks at, by name.
#ifndef PENSTOCK_FIELDS_HPP
#define PENSTOCK_FIELDS_HPP

#include "CSimdjson.h"

#include <cstring>

namespace penstock {

/// The longest of the names below. A key that is longer, decoded, is none of them.
constexpr uint32_t longest_field_name = 12;

/// Returns the field that a decoded key names.
inline psj_field find_field(const uint8_t *key, uint32_t length) noexcept {
    const auto is = [key](const auto &name) { return memcmp(key, name, sizeof name - 1) == 0; };
    switch (length) {
    case 4: return is("type") ? PSJ_FIELD_TYPE : is("name") ? PSJ_FIELD_NAME : PSJ_FIELD_NONE;
    case 5: return is("event") ? PSJ_FIELD_EVENT : PSJ_FIELD_NONE;
    case 6:
        return is("userId") ? PSJ_FIELD_USER_ID
               : is("sentAt") ? PSJ_FIELD_SENT_AT
               : is("traits") ? PSJ_FIELD_TRAITS : PSJ_FIELD_NONE;
    case 7: return is("context") ? PSJ_FIELD_CONTEXT : is("groupId") ? PSJ_FIELD_GROUP_ID : PSJ_FIELD_NONE;
    case 9:
        return is("messageId") ? PSJ_FIELD_MESSAGE_ID
               : is("timestamp") ? PSJ_FIELD_TIMESTAMP : PSJ_FIELD_NONE;
    case 10:
        return is("properties") ? PSJ_FIELD_PROPERTIES
               : is("previousId") ? PSJ_FIELD_PREVIOUS_ID : PSJ_FIELD_NONE;
    case 11: return is("anonymousId") ? PSJ_FIELD_ANONYMOUS_ID : PSJ_FIELD_NONE;
    case 12: return is("integrations") ? PSJ_FIELD_INTEGRATIONS : PSJ_FIELD_NONE;
    default: return PSJ_FIELD_NONE;
    }
}

/// Returns the kind that the decoded contents of `type` name.
inline psj_kind find_kind(const uint8_t *text, uint32_t length) noexcept {
    const auto is = [text](const auto &name) { return memcmp(text, name, sizeof name - 1) == 0; };
    switch (length) {
    case 4: return is("page") ? PSJ_PAGE : PSJ_KIND_NONE;
    case 5:
        return is("track") ? PSJ_TRACK
               : is("group") ? PSJ_GROUP
               : is("alias") ? PSJ_ALIAS : PSJ_KIND_NONE;
    case 6: return is("screen") ? PSJ_SCREEN : PSJ_KIND_NONE;
    case 8: return is("identify") ? PSJ_IDENTIFY : PSJ_KIND_NONE;
    default: return PSJ_KIND_NONE;
    }
}

} // namespace penstock

#endif
