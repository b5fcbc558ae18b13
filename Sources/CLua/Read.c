/* Converts an event's JSON to Lua values. Objects and lists become tables, and null becomes `null`. Numbers written
 * as integers become Lua integers if they fit 64 bits. */
#include "Script.h"

#include <string.h>

static void push_value(lua_State *L, clua_script *script, size_t *at, int depth, clua_entry *entry);

static int broken(lua_State *L) { return luaL_error(L, "the event is not valid JSON"); }

static uint8_t peek(lua_State *L, clua_script *script, size_t *at) {
    while (*at < script->length) {
        uint8_t byte = script->json[*at];
        if (byte != ' ' && byte != '\t' && byte != '\n' && byte != '\r') return byte;
        (*at)++;
    }
    return (uint8_t)broken(L);
}

/* Advances `at` from the opening quote to after the closing one. */
static void skip_string(lua_State *L, clua_script *script, size_t *at, uint32_t *start, uint32_t *length, bool *escaped) {
    size_t position = *at + 1;
    *start = (uint32_t)position;
    *escaped = false;
    while (position < script->length && script->json[position] != '"') {
        if (script->json[position] == '\\') {
            *escaped = true;
            position++;
        }
        position++;
    }
    if (position >= script->length) broken(L);
    *length = (uint32_t)(position - *start);
    *at = position + 1;
}

static int digit(uint8_t byte) {
    if (byte >= '0' && byte <= '9') return byte - '0';
    byte |= 0x20;
    return byte >= 'a' && byte <= 'f' ? byte - 'a' + 10 : -1;
}

static uint32_t hexadecimal(lua_State *L, const uint8_t *text, size_t length) {
    uint32_t value = 0;
    if (length < 4) broken(L);
    for (int k = 0; k < 4; k++) {
        int d = digit(text[k]);
        if (d < 0) broken(L);
        value = value << 4 | (uint32_t)d;
    }
    return value;
}

size_t clua_decode(lua_State *L, clua_script *script, uint32_t start, uint32_t length) {
    clua_charge(L, length / 16);
    script->scratch = clua_reserve(L, script->scratch, &script->scratch_capacity, length + 4u, 1);
    const uint8_t *text = script->json + start;
    char *out = script->scratch;
    for (size_t k = 0; k < length; k++) {
        if (text[k] != '\\') {
            *out++ = (char)text[k];
            continue;
        }
        if (++k >= length) broken(L);
        static const char plain[] = "\"\\/bfnrt", meant[] = "\"\\/\b\f\n\r\t";
        const char *known = text[k] == 0 ? NULL : strchr(plain, text[k]);
        if (known != NULL) {
            *out++ = meant[known - plain];
            continue;
        }
        if (text[k] != 'u') broken(L);
        uint32_t scalar = hexadecimal(L, text + k + 1, length - k - 1);
        k += 4;
        if (scalar >= 0xD800 && scalar < 0xDC00) {
            if (length - k < 7 || text[k + 1] != '\\' || text[k + 2] != 'u') broken(L);
            uint32_t low = hexadecimal(L, text + k + 3, length - k - 3);
            if (low < 0xDC00 || low > 0xDFFF) broken(L);
            scalar = 0x10000 + ((scalar - 0xD800) << 10) + (low - 0xDC00);
            k += 6;
        }
        if (scalar < 0x80) {
            *out++ = (char)scalar;
        } else if (scalar < 0x800) {
            *out++ = (char)(0xC0 | scalar >> 6);
            *out++ = (char)(0x80 | (scalar & 0x3F));
        } else if (scalar < 0x10000) {
            *out++ = (char)(0xE0 | scalar >> 12);
            *out++ = (char)(0x80 | (scalar >> 6 & 0x3F));
            *out++ = (char)(0x80 | (scalar & 0x3F));
        } else {
            *out++ = (char)(0xF0 | scalar >> 18);
            *out++ = (char)(0x80 | (scalar >> 12 & 0x3F));
            *out++ = (char)(0x80 | (scalar >> 6 & 0x3F));
            *out++ = (char)(0x80 | (scalar & 0x3F));
        }
    }
    return (size_t)(out - script->scratch);
}

static void push_string(lua_State *L, clua_script *script, uint32_t start, uint32_t length, bool escaped) {
    if (escaped) {
        size_t decoded = clua_decode(L, script, start, length);
        lua_pushlstring(L, script->scratch, decoded);
    } else {
        lua_pushlstring(L, (const char *)script->json + start, length);
    }
}

void clua_push_number(lua_State *L, clua_script *script, uint32_t start, uint32_t length) {
    char digits[64];
    if (length < sizeof digits) {
        memcpy(digits, script->json + start, length);
        digits[length] = 0;
        if (lua_stringtonumber(L, digits) == 0) broken(L);
    } else {
        clua_charge(L, length / 16);
        const char *text = lua_pushlstring(L, (const char *)script->json + start, length);
        if (lua_stringtonumber(L, text) == 0) broken(L);
        lua_remove(L, -2);
    }
}

static uint32_t add_entry(lua_State *L, clua_script *script, uint32_t shape, clua_entry entry) {
    script->entries =
        clua_reserve(L, script->entries, &script->entry_capacity, script->entry_count + 1, sizeof *script->entries);
    uint32_t number = (uint32_t)script->entry_count++;
    script->entries[number] = entry;
    clua_shape *owner = &script->shapes[shape];
    if (owner->last != 0) script->entries[owner->last].next = number;
    if (owner->first == 0) owner->first = number;
    owner->last = number;
    return number;
}

/* Records that an object has the member name on top of the stack, in this entry. `names` is the stack index of a
 * table from names to entries. The table is created when a name first occurs twice, to mark all but the last member
 * of that name as replaced. */
static void note_name(lua_State *L, clua_script *script, uint32_t shape, uint32_t entry, int names, bool is_known) {
    if (is_known && lua_isnil(L, names)) {
        lua_newtable(L);
        lua_replace(L, names);
        for (uint32_t k = script->shapes[shape].first; k != entry; k = script->entries[k].next) {
            clua_charge(L, CLUA_MEMBER_WORK);
            const clua_entry *other = &script->entries[k];
            push_string(L, script, other->name, other->name_length, other->is_name_escaped);
            lua_pushinteger(L, k);
            lua_rawset(L, names);
        }
    }
    if (is_known) {
        lua_pushvalue(L, -1);
        lua_rawget(L, names);
        script->entries[lua_tointeger(L, -1)].is_replaced = true;
        lua_pop(L, 1);
    }
    lua_pushvalue(L, -1);
    lua_pushinteger(L, entry);
    lua_rawset(L, names);
}

static void push_container(lua_State *L, clua_script *script, size_t *at, int depth, bool is_list) {
    if (depth >= CLUA_MAXIMUM_DEPTH) luaL_error(L, "the event is nested deeper than %d levels", CLUA_MAXIMUM_DEPTH);
    luaL_checkstack(L, 12, NULL);
    script->shapes =
        clua_reserve(L, script->shapes, &script->shape_capacity, script->shape_count + 1, sizeof *script->shapes);
    uint32_t shape = (uint32_t)script->shape_count++;
    script->shapes[shape] = (clua_shape){0, 0, is_list};

    lua_newtable(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &clua_shapes_key);
    lua_pushvalue(L, -2);
    lua_pushinteger(L, shape);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    clua_charge(L, CLUA_MEMBER_WORK);

    int table = lua_gettop(L);
    int names = table + 1;
    lua_pushnil(L);
    uint8_t end = is_list ? ']' : '}';
    (*at)++;
    lua_Integer items = 0;
    bool has_names = false;
    while (peek(L, script, at) != end) {
        clua_charge_member(L, script->entry_count);
        clua_entry entry = {0};
        if (is_list) {
            push_value(L, script, at, depth + 1, &entry);
            add_entry(L, script, shape, entry);
            lua_rawseti(L, table, ++items);
        } else {
            if (peek(L, script, at) != '"') broken(L);
            skip_string(L, script, at, &entry.name, &entry.name_length, &entry.is_name_escaped);
            if (peek(L, script, at) != ':') broken(L);
            (*at)++;
            push_string(L, script, entry.name, entry.name_length, entry.is_name_escaped);
            lua_pushvalue(L, -1);
            bool is_known = lua_rawget(L, table) != LUA_TNIL;
            lua_pop(L, 1);
            push_value(L, script, at, depth + 1, &entry);
            uint32_t number = add_entry(L, script, shape, entry);
            has_names |= is_known;
            if (has_names) {
                lua_pushvalue(L, -2);
                note_name(L, script, shape, number, names, is_known);
                lua_pop(L, 1);
            }
            lua_rawset(L, table);
        }
        if (peek(L, script, at) == ',') (*at)++;
    }
    (*at)++;
    lua_settop(L, table);
}

static void push_value(lua_State *L, clua_script *script, size_t *at, int depth, clua_entry *entry) {
    uint8_t byte = peek(L, script, at);
    size_t start = *at;
    switch (byte) {
    case '{':
    case '[':
        entry->type = CLUA_TABLE;
        push_container(L, script, at, depth, byte == '[');
        return;
    case '"':
        entry->type = CLUA_STRING;
        skip_string(L, script, at, &entry->value, &entry->value_length, &entry->is_value_escaped);
        push_string(L, script, entry->value, entry->value_length, entry->is_value_escaped);
        return;
    default: break;
    }
    while (*at < script->length && strchr(",]} \t\n\r", script->json[*at]) == NULL) (*at)++;
    entry->value = (uint32_t)start;
    entry->value_length = (uint32_t)(*at - start);
    switch (byte) {
    case 't':
    case 'f':
        entry->type = byte == 't' ? CLUA_TRUE : CLUA_FALSE;
        lua_pushboolean(L, byte == 't');
        return;
    case 'n':
        entry->type = CLUA_NULL;
        lua_pushlightuserdata(L, NULL);
        return;
    default:
        entry->type = CLUA_NUMBER;
        clua_push_number(L, script, entry->value, entry->value_length);
    }
}

void clua_push_event(lua_State *L, clua_script *script) {
    clua_entry entry = {0};
    size_t at = 0;
    clua_charge(L, script->length / 64);
    if (script->length > UINT32_MAX || peek(L, script, &at) != '{') broken(L);
    push_value(L, script, &at, 0, &entry);
}
