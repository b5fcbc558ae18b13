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

/* What a key costs pairs, and a conversion string.format. */
#define KEY_WORK 4
#define TEXT_WORK 8
#define FLOAT_WORK 64

/* The library function that one of ours stands around is its first upvalue. */
static lua_CFunction inner(lua_State *L) { return lua_tocfunction(L, lua_upvalueindex(1)); }

void clua_charge_texts(lua_State *L, int first) {
    int count = lua_gettop(L);
    uint64_t work = (uint64_t)count / 8;
    for (int k = first; k <= count; k++) {
        if (lua_type(L, k) == LUA_TSTRING) work += lua_rawlen(L, k) / 16;
    }
    clua_charge(L, work);
}

static int charged_from(lua_State *L, int first) {
    clua_charge_texts(L, first);
    int results = inner(L)(L);
    if (results > 8) clua_charge(L, (uint64_t)results / 2);
    return results;
}

/* For functions that may read all of every text they are given: a number can be a text, and long. */
static int charged(lua_State *L) { return charged_from(L, 1); }
/* For those that read but a part of the first one. */
static int charged_behind(lua_State *L) { return charged_from(L, 2); }

/* math.random has an upvalue of its own, so it cannot be called as if it were this function. */
static int draw(lua_State *L) {
    clua_charge_texts(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

/* Charges for items from one number to another. */
static void charge_items(lua_State *L, lua_Integer from, lua_Integer to) {
    if (to >= from) clua_charge(L, (uint64_t)to - (uint64_t)from);
}

static int concatenate(lua_State *L) {
    clua_charge_texts(L, 2);
    luaL_checktype(L, 1, LUA_TTABLE);
    charge_items(L, luaL_optinteger(L, 3, 1), luaL_optinteger(L, 4, (lua_Integer)lua_rawlen(L, 1)));
    return inner(L)(L);
}

/* insert and remove: with a place, what stands behind it is moved. */
static int move(lua_State *L, int arguments) {
    if (lua_gettop(L) >= arguments) {
        if (lua_type(L, 2) == LUA_TSTRING) clua_charge_texts(L, 2);
        luaL_checktype(L, 1, LUA_TTABLE);
        lua_Integer place = luaL_checkinteger(L, 2);
        /* Other places are errors. */
        if (place > 0) charge_items(L, place, (lua_Integer)lua_rawlen(L, 1));
    }
    clua_charge(L, 0);
    return inner(L)(L);
}
static int insert(lua_State *L) { return move(L, 3); }
static int take(lua_State *L) { return move(L, 2); }

static int unpack(lua_State *L) {
    clua_charge_texts(L, 2);
    luaL_checktype(L, 1, LUA_TTABLE);
    charge_items(L, luaL_optinteger(L, 2, 1), luaL_optinteger(L, 3, (lua_Integer)lua_rawlen(L, 1)));
    return inner(L)(L);
}

static int less(lua_State *L) {
    clua_charge_texts(L, 1);
    lua_pushboolean(L, lua_compare(L, 1, 2, LUA_OPLT));
    return 1;
}

static int sort(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    uint64_t count = lua_rawlen(L, 1);
    clua_charge(L, count);
    uint64_t rounds = 1;
    while (count >> rounds != 0) rounds++;
    clua_charge(L, count * rounds);
    if (lua_isnoneornil(L, 2)) {
        lua_settop(L, 1);
        lua_pushcfunction(L, less);
    }
    return inner(L)(L);
}

static int repeat(lua_State *L) {
    luaL_checkstring(L, 1);
    clua_charge_texts(L, 2);
    lua_Integer count = luaL_checkinteger(L, 2);
    luaL_optstring(L, 3, "");
    /* Nothing, any number of times, would be written that often. */
    if (count > 0 && lua_rawlen(L, 1) == 0 && (lua_isnoneornil(L, 3) || lua_rawlen(L, 3) == 0)) {
        lua_pushliteral(L, "");
        return 1;
    }
    /* What is too large fails at once, by itself. */
    if (count > 0 && (uint64_t)count <= clua_text_limit(&clua_script_of(L)->limits)) clua_charge(L, (uint64_t)count / 4);
    return inner(L)(L);
}

/* What utf8.codes gives: it skips what is in the middle of a character. */
static int next_code(lua_State *L) {
    lua_Integer before = lua_tointeger(L, 2);
    int results = inner(L)(L);
    lua_Integer behind = results == 0 ? (lua_Integer)lua_rawlen(L, 1) : lua_tointeger(L, -2);
    if (before >= 0) charge_items(L, before / 16, behind / 16);
    return results;
}

static int codes(lua_State *L) {
    int results = inner(L)(L);
    lua_pushvalue(L, -3);
    lua_pushcclosure(L, next_code, 1);
    lua_replace(L, -4);
    return results;
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
    size_t length;
    const char *text = luaL_checklstring(L, 1, &length);
    clua_charge_texts(L, 1);
    int argument = 1;
    for (size_t at = 0; at < length; at++) {
        if (text[at] != '%' || ++at >= length || text[at] == '%') continue;
        argument++;
        while (at < length && text[at] != 0 && strchr("-+ #0123456789.", text[at]) != NULL) at++;
        if (at >= length) break;
        if (text[at] == 'p') return luaL_error(L, "%%p is not known here");
        clua_charge(L, text[at] == 0 || strchr("aAeEfFgG", text[at]) == NULL ? TEXT_WORK : FLOAT_WORK);
        if (text[at] != 's' || argument > lua_gettop(L)) continue;
        push_text(L, argument);
        lua_replace(L, argument);
    }
    return inner(L)(L);
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
    int rank; /* of its type */
    bool is_integer;
    lua_Integer integer;
    lua_Number number;
    const char *text;
    size_t length;
    lua_Integer place; /* in the list of keys */
} sort_key;

/* No two keys of a table are equal, so neither are two of these. */
static int order(const void *a, const void *b) {
    const sort_key *left = a, *right = b;
    if (left->rank != right->rank) return left->rank - right->rank;
    if (left->is_integer && right->is_integer) return left->integer < right->integer ? -1 : 1;
    if (left->text == NULL) return left->number < right->number ? -1 : 1;
    size_t shared = left->length < right->length ? left->length : right->length;
    int difference = memcmp(left->text, right->text, shared);
    return difference != 0 ? difference : left->length < right->length ? -1 : 1;
}

/* The key on the stack's top. */
static sort_key key_of(lua_State *L) {
    sort_key key = {0};
    switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
        key.is_integer = lua_isinteger(L, -1);
        key.integer = lua_tointeger(L, -1);
        key.number = lua_tonumber(L, -1);
        break;
    case LUA_TSTRING:
        key.rank = 1;
        key.text = lua_tolstring(L, -1, &key.length);
        clua_charge(L, key.length / 16);
        break;
    case LUA_TBOOLEAN:
        key.rank = 2;
        key.number = lua_toboolean(L, -1);
        break;
    case LUA_TLIGHTUSERDATA: key.rank = 3; break;
    default: luaL_error(L, "pairs has no order for keys that are a %s", luaL_typename(L, -1));
    }
    return key;
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

/* Numbers in their order, then names in theirs, then false, true and null. Functions and tables have
 * no order but that of their addresses, which differ from run to run. */
static int pairs(lua_State *L) {
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    size_t count = 0;
    lua_pushnil(L);
    for (; lua_next(L, 1) != 0; count++) lua_pop(L, 1);
    clua_charge(L, count * KEY_WORK);
    lua_createtable(L, (int)(count < 65536 ? count : 65536), 0);
    sort_key *keys = lua_newuserdatauv(L, (count + 1) * sizeof *keys, 0);
    size_t found = 0;
    lua_pushnil(L);
    while (found < count && lua_next(L, 1) != 0) {
        lua_pop(L, 1);
        keys[found] = key_of(L);
        keys[found].place = (lua_Integer)found;
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
    static const member base[] = {{"assert", NULL}, {"error", NULL}, {"ipairs", NULL}, {"select", charged},
                                  {"tonumber", charged}, {"type", NULL}, {NULL, NULL}};
    static const member string[] = {{"byte", charged_behind}, {"char", charged}, {"format", format}, {"len", NULL},
                                    {"lower", charged}, {"rep", repeat}, {"reverse", charged}, {"sub", charged_behind},
                                    {"upper", charged}, {NULL, NULL}};
    static const member arithmetic[] = {{"__add", charged}, {"__sub", charged}, {"__mul", charged}, {"__div", charged},
                                        {"__mod", charged}, {"__pow", charged}, {"__unm", charged}, {"__idiv", charged},
                                        {NULL, NULL}};
    static const member table[] = {{"concat", concatenate}, {"insert", insert}, {"pack", charged_behind}, {"remove", take},
                                   {"sort", sort}, {"unpack", unpack}, {NULL, NULL}};
    static const member math[] = {
        {"abs", charged}, {"acos", charged}, {"asin", charged}, {"atan", charged}, {"ceil", charged}, {"cos", charged},
        {"deg", charged}, {"exp", charged}, {"floor", charged}, {"fmod", charged}, {"huge", NULL}, {"log", charged},
        {"max", charged}, {"maxinteger", NULL}, {"min", charged}, {"mininteger", NULL}, {"modf", charged}, {"pi", NULL},
        {"rad", charged}, {"random", draw}, {"sin", charged}, {"sqrt", charged}, {"tan", charged},
        {"tointeger", charged}, {"type", NULL}, {"ult", charged}, {NULL, NULL}};
    static const member utf8[] = {{"char", charged}, {"charpattern", NULL}, {"codepoint", charged_behind}, {"codes", codes},
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
    /* Methods of strings are these as well; what is left there is arithmetic. */
    lua_pushliteral(L, "");
    if (lua_getmetatable(L, -1)) {
        lua_pushvalue(L, -3);
        lua_setfield(L, -2, "__index");
        lua_pushvalue(L, -1);
        copy(L, arithmetic);
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
