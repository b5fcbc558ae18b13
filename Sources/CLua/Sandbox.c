/* What a script can reach: no more than is listed here.
 *
 * - Nothing does input or output, loads code, starts a coroutine, reads a clock or shows an address.
 *   `pairs` has an order, and math.random starts from the event's position: the same event gives the
 *   same result each time.
 * - Errors cannot be caught, metatables cannot be had: a script cannot outlive its bounds, and what
 *   it does to a library is an error.
 * - What takes longer the more it is given is charged for it. */
#include "Script.h"

#include <stdlib.h>
#include <string.h>

const char clua_seed_key = 0;

/* Calls the function in the first upvalue, charging for the length of its first argument. */
static int charged(lua_State *L) {
    clua_charge(L, (uint64_t)lua_rawlen(L, 1) / (lua_istable(L, 1) ? 4 : 64));
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int sort(lua_State *L) {
    uint64_t count = lua_rawlen(L, 1);
    uint64_t rounds = 1;
    while (count >> rounds != 0) rounds++;
    clua_charge(L, count * rounds);
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int repeat(lua_State *L) {
    /* Nothing, any number of times, would be written that often. */
    if (luaL_optstring(L, 3, "")[0] == 0 && lua_rawlen(L, 1) == 0 && lua_rawlen(L, 3) == 0) {
        luaL_checkstring(L, 1);
        luaL_checkinteger(L, 2);
        lua_pushliteral(L, "");
        return 1;
    }
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

/* What a value is called in a text: addresses differ from run to run. */
static void push_text(lua_State *L, int index) {
    if (lua_islightuserdata(L, index)) {
        lua_pushliteral(L, "null");
    } else if (lua_istable(L, index) || lua_isfunction(L, index)) {
        lua_pushstring(L, luaL_typename(L, index));
    } else {
        luaL_tolstring(L, index, NULL);
    }
}

static int to_string(lua_State *L) {
    luaL_checkany(L, 1);
    push_text(L, 1);
    return 1;
}

static int format(lua_State *L) {
    const char *text = luaL_checkstring(L, 1);
    int argument = 1;
    for (; *text != 0; text++) {
        if (*text != '%') continue;
        text++;
        if (*text == '%') continue;
        argument++;
        text += strspn(text, "-+ #0123456789.");
        if (*text == 0) break;
        if (*text == 'p') return luaL_error(L, "%%p is not known here");
        if (*text != 's' || argument > lua_gettop(L)) continue;
        push_text(L, argument);
        lua_replace(L, argument);
    }
    return lua_tocfunction(L, lua_upvalueindex(1))(L);
}

static int refuse_change(lua_State *L) { return luaL_error(L, "a library cannot be changed"); }

static int make_list(lua_State *L) {
    if (lua_isnoneornil(L, 1)) {
        lua_settop(L, 0);
        lua_newtable(L);
    }
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    clua_mark_list(L);
    return 1;
}

typedef struct {
    int kind; /* numbers, then names, then the rest */
    lua_Number number;
    const char *text;
    size_t length;
    lua_Integer place; /* in the list of keys */
} sort_key;

static int order(const void *a, const void *b) {
    const sort_key *left = a, *right = b;
    if (left->kind != right->kind) return left->kind - right->kind;
    if (left->kind == 0 && left->number != right->number) return left->number < right->number ? -1 : 1;
    if (left->kind == 1) {
        size_t shared = left->length < right->length ? left->length : right->length;
        int difference = memcmp(left->text, right->text, shared);
        if (difference != 0) return difference;
        if (left->length != right->length) return left->length < right->length ? -1 : 1;
    }
    return (left->place > right->place) - (left->place < right->place);
}

static int next_pair(lua_State *L) {
    lua_Integer at = lua_tointeger(L, lua_upvalueindex(3));
    for (;;) {
        if (lua_rawgeti(L, lua_upvalueindex(2), ++at) == LUA_TNIL) return 1;
        lua_pushvalue(L, -1);
        if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL) break;
        lua_pop(L, 2);
    }
    lua_pushinteger(L, at);
    lua_replace(L, lua_upvalueindex(3));
    return 2;
}

/* Numbers in their order, then names in theirs. */
static int pairs(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    size_t count = 0;
    lua_pushnil(L);
    for (; lua_next(L, 1) != 0; count++) lua_pop(L, 1);
    clua_charge(L, count);
    lua_createtable(L, (int)(count < 65536 ? count : 65536), 0);
    sort_key *keys = lua_newuserdatauv(L, (count + 1) * sizeof *keys, 0);
    size_t found = 0;
    lua_pushnil(L);
    while (found < count && lua_next(L, 1) != 0) {
        lua_pop(L, 1);
        sort_key *key = &keys[found];
        *key = (sort_key){.kind = 2, .place = (lua_Integer)found};
        if (lua_type(L, -1) == LUA_TNUMBER) {
            key->kind = 0;
            key->number = lua_tonumber(L, -1);
        } else if (lua_type(L, -1) == LUA_TSTRING) {
            key->kind = 1;
            key->text = lua_tolstring(L, -1, &key->length);
        }
        lua_pushvalue(L, -1);
        lua_rawseti(L, 2, (lua_Integer)++found);
    }
    lua_settop(L, 3);
    qsort(keys, found, sizeof *keys, order);
    lua_createtable(L, (int)(found < 65536 ? found : 65536), 0);
    for (size_t k = 0; k < found; k++) {
        lua_rawgeti(L, 2, keys[k].place + 1);
        lua_rawseti(L, 4, (lua_Integer)k + 1);
    }
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 4);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_pair, 3);
    lua_pushvalue(L, 1);
    lua_pushnil(L);
    return 3;
}

typedef struct {
    const char *name;
    lua_CFunction around; /* NULL: as it is */
} member;

/* Copies members of the library on the stack's top to the table below it, and drops the library. */
static void copy(lua_State *L, const member *members) {
    for (; members->name != NULL; members++) {
        lua_getfield(L, -1, members->name);
        if (members->around != NULL) lua_pushcclosure(L, members->around, 1);
        lua_setfield(L, -3, members->name);
    }
    lua_pop(L, 1);
}

static void add(lua_State *L, const char *name, lua_CFunction function) {
    lua_pushcfunction(L, function);
    lua_setfield(L, -2, name);
}

/* Puts the library on the stack's top, behind something that cannot be changed, into the table below. */
static void install(lua_State *L, const char *name) {
    lua_newtable(L);
    lua_createtable(L, 0, 3);
    lua_rotate(L, -3, -1);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, refuse_change);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, name);
}

static void open(lua_State *L, lua_CFunction library) {
    lua_pushcfunction(L, library);
    lua_call(L, 0, 1);
}

void clua_push_sandbox(lua_State *L) {
    static const member base[] = {{"assert", NULL}, {"error", NULL}, {"ipairs", NULL}, {"select", NULL},
                                  {"tonumber", charged}, {"type", NULL}, {NULL, NULL}};
    static const member string[] = {{"byte", NULL}, {"char", NULL}, {"format", format}, {"len", NULL},
                                    {"lower", charged}, {"rep", repeat}, {"reverse", charged}, {"sub", NULL},
                                    {"upper", charged}, {NULL, NULL}};
    static const member table[] = {{"concat", charged}, {"insert", charged}, {"pack", NULL}, {"remove", charged},
                                   {"sort", sort}, {"unpack", charged}, {NULL, NULL}};
    static const member math[] = {{"abs", NULL}, {"acos", NULL}, {"asin", NULL}, {"atan", NULL}, {"ceil", NULL},
                                  {"cos", NULL}, {"deg", NULL}, {"exp", NULL}, {"floor", NULL}, {"fmod", NULL},
                                  {"huge", NULL}, {"log", NULL}, {"max", NULL}, {"maxinteger", NULL}, {"min", NULL},
                                  {"mininteger", NULL}, {"modf", NULL}, {"pi", NULL}, {"rad", NULL}, {"random", NULL},
                                  {"sin", NULL}, {"sqrt", NULL}, {"tan", NULL}, {"tointeger", NULL}, {"type", NULL},
                                  {"ult", NULL}, {NULL, NULL}};
    static const member utf8[] = {{"char", NULL}, {"charpattern", NULL}, {"codepoint", charged}, {"codes", charged},
                                  {"len", charged}, {"offset", charged}, {NULL, NULL}};
    lua_newtable(L);
    open(L, luaopen_base);
    copy(L, base);
    add(L, "list", make_list);
    add(L, "pairs", pairs);
    add(L, "tostring", to_string);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");

    lua_newtable(L);
    open(L, luaopen_string);
    copy(L, string);
    clua_add_patterns(L);
    /* Methods of strings are these as well. */
    lua_pushliteral(L, "");
    if (lua_getmetatable(L, -1)) {
        lua_pushvalue(L, -3);
        lua_setfield(L, -2, "__index");
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    install(L, "string");

    lua_newtable(L);
    open(L, luaopen_table);
    copy(L, table);
    install(L, "table");

    lua_newtable(L);
    open(L, luaopen_math);
    lua_getfield(L, -1, "randomseed");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &clua_seed_key);
    copy(L, math);
    install(L, "math");

    lua_newtable(L);
    open(L, luaopen_utf8);
    copy(L, utf8);
    install(L, "utf8");
}
