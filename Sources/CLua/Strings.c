/* find, match, gmatch and gsub of Lua's string library, based on a matcher that can be stopped. */
#define _GNU_SOURCE /* memmem */
#include "Pattern.h"

#include <ctype.h>
#include <string.h>

typedef clua_matcher matcher;

static void push_capture(matcher *m, int k, const char *s, const char *end) {
    if (k >= m->level) {
        if (k != 0) luaL_error(m->L, "invalid capture index %%%d", k + 1);
        lua_pushlstring(m->L, s, (size_t)(end - s));
    } else if (m->captures[k].length == CLUA_POSITION) {
        lua_pushinteger(m->L, m->captures[k].start - m->text + 1);
    } else {
        if (m->captures[k].length == CLUA_OPEN) luaL_error(m->L, "unfinished capture");
        lua_pushlstring(m->L, m->captures[k].start, (size_t)m->captures[k].length);
    }
}

/* Pushes all captures; the whole match if there are no captures and `s` is not NULL. */
static int push_captures(matcher *m, const char *s, const char *end) {
    int count = m->level == 0 && s != NULL ? 1 : m->level;
    luaL_checkstack(m->L, count, "too many captures");
    for (int k = 0; k < count; k++) push_capture(m, k, s, end);
    return count;
}

static void prepare(matcher *m, lua_State *L, const char *text, size_t length, const char *pattern, size_t pattern_length) {
    m->L = L;
    m->text = text;
    m->text_end = text + length;
    m->pattern_end = pattern + pattern_length;
    m->level = 0;
    m->steps = 0;
}

/* Returns the start of the first match at or after `s`; NULL: no match. */
static const char *search(matcher *m, const char *s, const char *pattern, bool is_anchored, const char **end) {
    for (; s <= m->text_end; s++) {
        *end = clua_match(m, s, pattern);
        if (*end != NULL) return s;
        if (is_anchored) return NULL;
        clua_step(m);
    }
    return NULL;
}

static const char *search_plain(lua_State *L, const char *s, size_t length, const char *part, size_t part_length) {
    clua_charge(L, length / 64);
    return memmem(s, length, part, part_length);
}

/* Returns the start offset given by the third argument: counted from 1, or from the end if negative. */
static size_t start_of(lua_State *L, size_t length) {
    lua_Integer from = luaL_optinteger(L, 3, 1);
    if (from > 0) return (size_t)from - 1;
    if (from == 0 || (size_t)(-(from + 1)) >= length) return 0;
    return length - (size_t)(-(from + 1)) - 1;
}

static int find_or_match(lua_State *L, bool is_find) {
    size_t length, pattern_length;
    const char *text = luaL_checklstring(L, 1, &length);
    const char *pattern = luaL_checklstring(L, 2, &pattern_length);
    clua_charge_texts(L, 3);
    size_t start = start_of(L, length);
    if (start > length) {
        lua_pushnil(L);
        return 1;
    }
    matcher m;
    prepare(&m, L, text, length, pattern, pattern_length);
    const char *end;
    const char *found;
    if (is_find && lua_toboolean(L, 4)) {
        found = search_plain(L, text + start, length - start, pattern, pattern_length);
        end = found == NULL ? NULL : found + pattern_length;
    } else {
        bool is_anchored = pattern_length > 0 && *pattern == '^';
        found = search(&m, text + start, pattern + is_anchored, is_anchored, &end);
    }
    if (found == NULL) {
        lua_pushnil(L);
        return 1;
    }
    if (!is_find) return push_captures(&m, found, end);
    lua_pushinteger(L, found - text + 1);
    lua_pushinteger(L, end - text);
    return 2 + push_captures(&m, NULL, NULL);
}

static int find(lua_State *L) { return find_or_match(L, true); }
static int match_first(lua_State *L) { return find_or_match(L, false); }

/* Upvalues: the text, the pattern, the offset to continue at, the end of the last match. */
static int next_match(lua_State *L) {
    size_t length, pattern_length;
    const char *text = lua_tolstring(L, lua_upvalueindex(1), &length);
    const char *pattern = lua_tolstring(L, lua_upvalueindex(2), &pattern_length);
    lua_Integer last = lua_tointeger(L, lua_upvalueindex(4));
    matcher m;
    prepare(&m, L, text, length, pattern, pattern_length);
    const char *end;
    const char *s = text + lua_tointeger(L, lua_upvalueindex(3));
    while ((s = search(&m, s, pattern, false, &end)) != NULL) {
        /* Skip an empty match directly after the last match. */
        if (end - text == last) {
            if (++s > m.text_end) break;
            continue;
        }
        lua_pushinteger(L, end - text);
        lua_copy(L, -1, lua_upvalueindex(3));
        lua_replace(L, lua_upvalueindex(4));
        return push_captures(&m, s, end);
    }
    return 0;
}

static int match_all(lua_State *L) {
    size_t length;
    luaL_checklstring(L, 1, &length);
    luaL_checkstring(L, 2);
    clua_charge_texts(L, 3);
    size_t start = start_of(L, length);
    lua_settop(L, 2);
    /* A start after the end has no match, not even an empty one. */
    lua_pushinteger(L, (lua_Integer)(start > length ? length + 1 : start));
    lua_pushinteger(L, -1);
    lua_pushcclosure(L, next_match, 4);
    return 1;
}

/* Adds the replacement of a match, as given by the third argument; nil or false keeps the match. */
static void add_replacement(matcher *m, luaL_Buffer *buffer, const char *s, const char *end, int type) {
    lua_State *L = m->L;
    if (type == LUA_TTABLE) {
        push_capture(m, 0, s, end);
        lua_gettable(L, 3);
    } else if (type == LUA_TFUNCTION) {
        lua_pushvalue(L, 3);
        lua_call(L, push_captures(m, s, end), 1);
    } else {
        size_t length;
        const char *text = lua_tolstring(L, 3, &length);
        for (size_t k = 0; k < length; k++) {
            clua_step(m);
            if (text[k] != '%') {
                luaL_addchar(buffer, text[k]);
                continue;
            }
            k++;
            if (k < length && text[k] == '%') {
                luaL_addchar(buffer, '%');
            } else if (k < length && text[k] == '0') {
                luaL_addlstring(buffer, s, (size_t)(end - s));
            } else if (k < length && isdigit((unsigned char)text[k])) {
                push_capture(m, text[k] - '1', s, end);
                luaL_tolstring(L, -1, NULL);
                lua_remove(L, -2);
                luaL_addvalue(buffer);
            } else {
                luaL_error(L, "invalid use of '%%' in replacement string");
            }
        }
        return;
    }
    if (!lua_toboolean(L, -1)) {
        lua_pop(L, 1);
        lua_pushlstring(L, s, (size_t)(end - s));
    } else if (!lua_isstring(L, -1)) {
        luaL_error(L, "invalid replacement value (a %s)", luaL_typename(L, -1));
    }
    luaL_addvalue(buffer);
}

static int replace_all(lua_State *L) {
    size_t length, pattern_length;
    const char *text = luaL_checklstring(L, 1, &length);
    const char *pattern = luaL_checklstring(L, 2, &pattern_length);
    int type = lua_type(L, 3);
    luaL_argexpected(L, type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TTABLE || type == LUA_TFUNCTION, 3,
                     "string/function/table");
    clua_charge_texts(L, 4);
    lua_Integer most = luaL_optinteger(L, 4, (lua_Integer)length + 1);
    bool is_anchored = pattern_length > 0 && *pattern == '^';
    matcher m;
    prepare(&m, L, text, length, pattern, pattern_length);
    luaL_Buffer buffer;
    luaL_buffinit(L, &buffer);
    const char *s = text;
    const char *last = NULL;
    lua_Integer count = 0;
    while (count < most) {
        const char *end = clua_match(&m, s, pattern + is_anchored);
        if (end != NULL && end != last) {
            count++;
            add_replacement(&m, &buffer, s, end, type);
            s = last = end;
        } else if (s < m.text_end) {
            luaL_addchar(&buffer, *s++);
        } else {
            break;
        }
        if (is_anchored) break;
        clua_step(&m);
    }
    luaL_addlstring(&buffer, s, (size_t)(m.text_end - s));
    luaL_pushresult(&buffer);
    lua_pushinteger(L, count);
    return 2;
}

void clua_add_patterns(lua_State *L) {
    static const luaL_Reg functions[] = {
        {"find", find}, {"match", match_first}, {"gmatch", match_all}, {"gsub", replace_all}, {NULL, NULL}};
    luaL_setfuncs(L, functions, 0);
}
