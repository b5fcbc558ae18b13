/* Converts Lua values to JSON. Parts of the event that the script did not change are written with their original
 * bytes and order. Members that the script added follow, sorted by name, so that an event gives the same bytes each
 * time. */
#include "Script.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Work for formatting a float. */
#define FLOAT_WORK 16

typedef struct {
    const char *text;
    size_t length;
} name;

static void write_value(lua_State *L, clua_script *script, int depth, const clua_entry *original);

static void append(lua_State *L, clua_script *script, const void *bytes, size_t count) {
    if (count > script->limits.output - script->output_count)
        luaL_error(L, "the script returned more than %I bytes", (LUAI_UACINT)script->limits.output);
    script->output =
        clua_reserve(L, script->output, &script->output_capacity, script->output_count + count, 1);
    memcpy(script->output + script->output_count, bytes, count);
    script->output_count += count;
}

static void append_byte(lua_State *L, clua_script *script, char byte) { append(L, script, &byte, 1); }

/* Returns the length of the UTF-8 character at `text`; 0: not valid UTF-8. */
static size_t character(const uint8_t *text, size_t length) {
    static const struct { uint8_t mask, mark; size_t count; uint32_t least; } forms[] = {
        {0x80, 0x00, 1, 0}, {0xE0, 0xC0, 2, 0x80}, {0xF0, 0xE0, 3, 0x800}, {0xF8, 0xF0, 4, 0x10000}};
    for (size_t k = 0; k < sizeof forms / sizeof *forms; k++) {
        if ((text[0] & forms[k].mask) != forms[k].mark) continue;
        uint32_t scalar = text[0] & (uint8_t)~forms[k].mask;
        if (forms[k].count > length) return 0;
        for (size_t i = 1; i < forms[k].count; i++) {
            if ((text[i] & 0xC0) != 0x80) return 0;
            scalar = scalar << 6 | (text[i] & 0x3F);
        }
        bool is_valid = scalar >= forms[k].least && scalar <= 0x10FFFF && (scalar < 0xD800 || scalar > 0xDFFF);
        return is_valid ? forms[k].count : 0;
    }
    return 0;
}

static void append_string(lua_State *L, clua_script *script, const char *bytes, size_t length) {
    const uint8_t *text = (const uint8_t *)bytes;
    append_byte(L, script, '"');
    size_t written = 0;
    size_t at = 0;
    while (at < length) {
        if (text[at] >= 0x80) {
            size_t count = character(text + at, length - at);
            if (count == 0) luaL_error(L, "text that is not UTF-8 cannot be part of an event");
            at += count;
            continue;
        }
        if (text[at] >= 0x20 && text[at] != '"' && text[at] != '\\') {
            at++;
            continue;
        }
        append(L, script, text + written, at - written);
        static const char plain[] = "\"\\\b\f\n\r\t", meant[] = "\"\\bfnrt", digits[] = "0123456789abcdef";
        const char *known = text[at] == 0 ? NULL : strchr(plain, text[at]);
        if (known != NULL) {
            append(L, script, (char[]){'\\', meant[known - plain]}, 2);
        } else {
            append(L, script, (char[]){'\\', 'u', '0', '0', digits[text[at] >> 4], digits[text[at] & 15]}, 6);
        }
        written = ++at;
    }
    append(L, script, text + written, length - written);
    append_byte(L, script, '"');
}

/* Appends the shortest digits that represent the number exactly. */
static void append_number(lua_State *L, clua_script *script) {
    char digits[64];
    int length;
    if (lua_isinteger(L, -1)) {
        length = snprintf(digits, sizeof digits, "%lld", (long long)lua_tointeger(L, -1));
    } else {
        clua_charge(L, FLOAT_WORK);
        double number = lua_tonumber(L, -1);
        if (!isfinite(number)) luaL_error(L, "JSON has no number %s", isnan(number) ? "nan" : "inf");
        for (int precision = 15; precision <= 17; precision++) {
            length = snprintf(digits, sizeof digits, "%.*g", precision, number);
            if (strtod(digits, NULL) == number) break;
        }
        if (strpbrk(digits, ".e") == NULL) length = snprintf(digits, sizeof digits, "%.1f", number);
    }
    append(L, script, digits, (size_t)length);
}

/* Whether the value on top of the stack is unchanged. */
static bool is_untouched(lua_State *L, clua_script *script, const clua_entry *original) {
    switch (original->type) {
    case CLUA_NULL: return lua_islightuserdata(L, -1);
    case CLUA_FALSE: return lua_isboolean(L, -1) && !lua_toboolean(L, -1);
    case CLUA_TRUE: return lua_isboolean(L, -1) && lua_toboolean(L, -1);
    case CLUA_NUMBER: {
        if (lua_type(L, -1) != LUA_TNUMBER) return false;
        clua_push_number(L, script, original->value, original->value_length);
        bool same = lua_isinteger(L, -1) == lua_isinteger(L, -2) && lua_rawequal(L, -1, -2);
        lua_pop(L, 1);
        return same;
    }
    case CLUA_STRING: {
        if (lua_type(L, -1) != LUA_TSTRING) return false;
        size_t length;
        const char *text = lua_tolstring(L, -1, &length);
        const char *before = (const char *)script->json + original->value;
        size_t count = original->value_length;
        if (original->is_value_escaped) {
            count = clua_decode(L, script, original->value, original->value_length);
            before = script->scratch;
        }
        return count == length && memcmp(text, before, length) == 0;
    }
    default: return false;
    }
}

uint32_t clua_shape_of(lua_State *L, int table) {
    table = lua_absindex(L, table);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &clua_shapes_key);
    lua_pushvalue(L, table);
    lua_rawget(L, -2);
    lua_Integer shape = lua_tointeger(L, -1);
    lua_pop(L, 2);
    return (uint32_t)shape;
}

void clua_mark_list(lua_State *L) {
    lua_rawgetp(L, LUA_REGISTRYINDEX, &clua_shapes_key);
    lua_pushvalue(L, -2);
    lua_pushinteger(L, CLUA_NEW_LIST);
    lua_rawset(L, -3);
    lua_pop(L, 1);
}

static int order(const void *a, const void *b) {
    const name *left = a, *right = b;
    size_t shared = left->length < right->length ? left->length : right->length;
    int difference = memcmp(left->text, right->text, shared);
    return difference != 0 ? difference : (left->length > right->length) - (left->length < right->length);
}

static void write_list(lua_State *L, clua_script *script, int depth, uint32_t shape, lua_Integer count) {
    append_byte(L, script, '[');
    uint32_t entry = shape == 0 || shape == CLUA_NEW_LIST ? 0 : script->shapes[shape].first;
    for (lua_Integer i = 1; i <= count; i++) {
        if (i > 1) append_byte(L, script, ',');
        lua_rawgeti(L, -1, i);
        write_value(L, script, depth + 1, entry == 0 ? NULL : &script->entries[entry]);
        lua_pop(L, 1);
        if (entry != 0) entry = script->entries[entry].next;
    }
    append_byte(L, script, ']');
}

/* Whether the value on top of the stack equals the event's messageId, in any table. */
static bool is_own_id(lua_State *L, clua_script *script) {
    if (script->id == NULL || lua_type(L, -1) != LUA_TSTRING) return false;
    size_t length;
    const char *text = lua_tolstring(L, -1, &length);
    return length == script->id_length && memcmp(text, script->id, length) == 0;
}

/* Writes the messageId for the second or a later event of a call. An id that would be too long is cut, and a hash
 * (FNV-1a) of the whole id keeps it distinct from others with the same beginning. */
static void write_own_id(lua_State *L, clua_script *script, int number, const clua_entry *original) {
    char suffix[40];
    int count = snprintf(suffix, sizeof suffix, ":%d\"", number);
    size_t characters = 0;
    uint64_t hash = 0xcbf29ce484222325;
    clua_charge(L, script->id_length / 8);
    for (size_t k = 0; k < script->id_length; k++) {
        characters += ((unsigned char)script->id[k] & 0xC0) != 0x80;
        hash = (hash ^ (unsigned char)script->id[k]) * 0x100000001b3;
    }
    if (characters + (size_t)count - 1 <= CLUA_MAXIMUM_ID) {
        write_value(L, script, 1, original);
    } else {
        count = snprintf(suffix, sizeof suffix, "~%016llx:%d\"", (unsigned long long)hash, number);
        size_t length = 0;
        for (size_t left = CLUA_MAXIMUM_ID - (size_t)count + 1; length < script->id_length; length++) {
            if (((unsigned char)script->id[length] & 0xC0) != 0x80 && left-- == 0) break;
        }
        append_string(L, script, script->id, length);
    }
    /* Replace the closing quote. */
    script->output_count--;
    append(L, script, suffix, (size_t)count);
}

/* Writes a member, with its value on top of the stack. `number` is greater than 0 for the second and later events of
 * a call. */
static void write_member(lua_State *L, clua_script *script, int depth, int number, const clua_entry *original,
                         const char *text, size_t length, bool *is_first) {
    if (!*is_first) append_byte(L, script, ',');
    *is_first = false;
    if (original != NULL) {
        append_byte(L, script, '"');
        append(L, script, script->json + original->name, original->name_length);
        append_byte(L, script, '"');
    } else {
        append_string(L, script, text, length);
    }
    append_byte(L, script, ':');
    bool is_id = depth == 0 && number > 0 && length == 9 && memcmp(text, "messageId", 9) == 0;
    if (is_id && is_own_id(L, script)) {
        write_own_id(L, script, number, original);
    } else {
        write_value(L, script, depth + 1, original);
    }
}

/* Writes the members that the event did not have, sorted by name. `seen` is the stack index of a table of the names
 * already written. */
static void write_new_members(lua_State *L, clua_script *script, int depth, int number, int table, int seen,
                              size_t count, bool *is_first) {
    /* The table holds the name strings, so the pointers stay valid. */
    name *names = lua_newuserdatauv(L, count * sizeof *names, 0);
    size_t found = 0;
    lua_pushnil(L);
    while (lua_next(L, table) != 0) {
        lua_pop(L, 1);
        lua_pushvalue(L, -1);
        bool is_new = lua_rawget(L, seen) == LUA_TNIL;
        lua_pop(L, 1);
        if (!is_new || found == count) continue;
        names[found].text = lua_tolstring(L, -1, &names[found].length);
        found++;
    }
    qsort(names, found, sizeof *names, order);
    for (size_t k = 0; k < found; k++) {
        lua_pushlstring(L, names[k].text, names[k].length);
        lua_rawget(L, table);
        write_member(L, script, depth, number, NULL, names[k].text, names[k].length, is_first);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
}

static void write_object(lua_State *L, clua_script *script, int depth, int number, uint32_t shape, size_t count) {
    int table = lua_gettop(L);
    bool is_first = true;
    size_t written = 0;
    append_byte(L, script, '{');
    lua_newtable(L);
    int seen = table + 1;
    for (uint32_t k = shape == 0 ? 0 : script->shapes[shape].first; k != 0; k = script->entries[k].next) {
        clua_charge_member(L, k);
        clua_entry original = script->entries[k];
        if (original.is_replaced) continue;
        const char *text = (const char *)script->json + original.name;
        size_t length = original.name_length;
        if (original.is_name_escaped) {
            length = clua_decode(L, script, original.name, original.name_length);
            text = script->scratch;
        }
        /* Keep the name on the stack, because the scratch memory is reused below. */
        text = lua_pushlstring(L, text, length);
        lua_pushvalue(L, -1);
        if (lua_rawget(L, table) != LUA_TNIL) {
            write_member(L, script, depth, number, &original, text, length, &is_first);
            written++;
            lua_pushvalue(L, -2);
            lua_pushboolean(L, 1);
            lua_rawset(L, seen);
        }
        lua_pop(L, 2);
    }
    if (written < count) write_new_members(L, script, depth, number, table, seen, count - written, &is_first);
    lua_settop(L, table);
    append_byte(L, script, '}');
}

static void write_table(lua_State *L, clua_script *script, int depth, int number) {
    if (depth >= CLUA_MAXIMUM_DEPTH)
        luaL_error(L, "the returned value is nested deeper than %d levels, or contains itself", CLUA_MAXIMUM_DEPTH);
    luaL_checkstack(L, 16, NULL);
    uint32_t shape = clua_shape_of(L, -1);
    size_t names = 0;
    size_t items = 0;
    lua_Integer largest = 0;
    lua_pushnil(L);
    while (lua_next(L, -2) != 0) {
        lua_pop(L, 1);
        if (lua_type(L, -1) == LUA_TSTRING) {
            names++;
        } else if (lua_isinteger(L, -1) && lua_tointeger(L, -1) > 0) {
            items++;
            if (lua_tointeger(L, -1) > largest) largest = lua_tointeger(L, -1);
        } else {
            luaL_error(L, "a table with a key that is a %s cannot be part of an event", luaL_typename(L, -1));
        }
    }
    clua_charge(L, (names + items + 8) * CLUA_MEMBER_WORK);
    bool is_list = shape == CLUA_NEW_LIST || (shape != 0 && script->shapes[shape].is_list);
    if (shape == 0) is_list = items > 0;
    if (is_list ? names > 0 : items > 0) luaL_error(L, "a table with both names and numbers cannot be part of an event");
    if (is_list && (lua_Integer)items != largest)
        luaL_error(L, "a list with holes cannot be part of an event; use null");
    if (is_list) {
        write_list(L, script, depth, shape, largest);
    } else {
        write_object(L, script, depth, number, shape, names);
    }
}

static void write_value(lua_State *L, clua_script *script, int depth, const clua_entry *original) {
    /* Copy the entry, because the entries may move while a value is written. */
    clua_entry copy = {0};
    if (original != NULL) copy = *original;
    if (original != NULL && is_untouched(L, script, &copy)) {
        uint32_t quotes = copy.type == CLUA_STRING ? 1 : 0;
        append(L, script, script->json + copy.value - quotes, copy.value_length + 2u * quotes);
        return;
    }
    switch (lua_type(L, -1)) {
    case LUA_TBOOLEAN:
        if (lua_toboolean(L, -1)) {
            append(L, script, "true", 4);
        } else {
            append(L, script, "false", 5);
        }
        return;
    case LUA_TNUMBER: append_number(L, script); return;
    case LUA_TSTRING: {
        size_t length;
        const char *text = lua_tolstring(L, -1, &length);
        append_string(L, script, text, length);
        return;
    }
    case LUA_TTABLE: write_table(L, script, depth, 0); return;
    case LUA_TLIGHTUSERDATA: append(L, script, "null", 4); return;
    default: luaL_error(L, "a %s cannot be part of an event", luaL_typename(L, -1));
    }
}

void clua_write_event(lua_State *L, clua_script *script, int number) {
    uint32_t shape = clua_shape_of(L, -1);
    bool is_list = shape == CLUA_NEW_LIST || (shape != 0 && script->shapes[shape].is_list);
    if (is_list || lua_rawlen(L, -1) > 0) luaL_error(L, "an event must be an object, not a list");
    size_t start = script->output_count;
    write_table(L, script, 0, number);
    script->events[script->event_count].offset = start;
    script->events[script->event_count].length = script->output_count - start;
    script->event_count++;
    clua_charge(L, (script->output_count - start) / 32);
}
