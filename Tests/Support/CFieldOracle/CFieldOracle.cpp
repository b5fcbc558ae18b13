#include "CFieldOracle.h"

#include <simdjson.h>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace simdjson;

class Search {
public:
    Search(const uint8_t *base, std::vector<std::string_view> path, oracle_value &found)
        : base(base), path(std::move(path)), found(found) {}

    error_code look(ondemand::value value, size_t level) {
        ondemand::json_type type;
        SIMDJSON_TRY(value.type().get(type));
        if (level == path.size()) return take(value, type);
        if (type == ondemand::json_type::object) {
            ondemand::object object;
            SIMDJSON_TRY(value.get_object().get(object));
            return members(object, level);
        }
        if (type == ondemand::json_type::array) {
            ondemand::array array;
            SIMDJSON_TRY(value.get_array().get(array));
            size_t item = 0;
            for (auto element : array) {
                ondemand::value below;
                SIMDJSON_TRY(element.get(below));
                if (std::to_string(item++) == path[level]) SIMDJSON_TRY(look(below, level + 1));
            }
        }
        return SUCCESS;
    }

    error_code members(ondemand::object object, size_t level) {
        for (auto field : object) {
            std::string_view key;
            SIMDJSON_TRY(field.unescaped_key().get(key));
            if (key != path[level]) continue;
            found = {UINT32_MAX, 0, 0};
            ondemand::value below;
            SIMDJSON_TRY(field.value().get(below));
            SIMDJSON_TRY(look(below, level + 1));
        }
        return SUCCESS;
    }

private:
    const uint8_t *base;
    std::vector<std::string_view> path;
    oracle_value &found;

    error_code take(ondemand::value value, ondemand::json_type type) {
        std::string_view text;
        if (type == ondemand::json_type::object || type == ondemand::json_type::array) {
            ondemand::array array;
            ondemand::object object;
            if (type == ondemand::json_type::array) {
                SIMDJSON_TRY(value.get_array().get(array));
                SIMDJSON_TRY(array.raw_json().get(text));
            } else {
                SIMDJSON_TRY(value.get_object().get(object));
                SIMDJSON_TRY(object.raw_json().get(text));
            }
        } else {
            text = value.raw_json_token();
        }
        // A token includes the white space after it.
        const size_t last = text.find_last_not_of(" \t\n\r");
        text = text.substr(0, last + 1);
        const auto offset = uint32_t(reinterpret_cast<const uint8_t *>(text.data()) - base);
        const auto length = uint32_t(text.size());
        switch (type) {
        case ondemand::json_type::null: found = {offset, length, 1}; break;
        case ondemand::json_type::boolean: found = {offset, length, uint8_t(text[0] == 't' ? 3 : 2)}; break;
        case ondemand::json_type::number: found = {offset, length, 4}; break;
        case ondemand::json_type::string:
            found = {offset + 1, length - 2, uint8_t(text.find('\\') == text.npos ? 5 : 6)};
            break;
        case ondemand::json_type::array: found = {offset, length, 7}; break;
        case ondemand::json_type::object: found = {offset, length, 8}; break;
        }
        return SUCCESS;
    }
};

} // namespace

int oracle_find(const uint8_t *json, size_t length, const uint8_t *text, const uint32_t *lengths, size_t segments,
                oracle_value *value) {
    *value = {UINT32_MAX, 0, 0};
    padded_string padded(reinterpret_cast<const char *>(json), length);
    std::vector<std::string_view> path;
    for (size_t k = 0; k < segments; k++) {
        path.emplace_back(reinterpret_cast<const char *>(text), lengths[k]);
        text += lengths[k];
    }
    ondemand::parser parser;
    ondemand::document document;
    if (parser.iterate(padded).get(document)) return 1;
    ondemand::object object;
    if (document.get_object().get(object)) return 1;
    Search search(reinterpret_cast<const uint8_t *>(padded.data()), std::move(path), *value);
    return search.members(object, 0) == SUCCESS ? 0 : 1;
}
