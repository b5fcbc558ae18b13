/* The sandbox: scripts can only use what is listed here.
 *
 * - No function does input or output, loads code, starts a coroutine, reads a clock or reveals an address. `pairs`
 *   has a fixed order, and math.random is seeded with the event's position. So an event gives the same result each
 *   time.
 * - Errors cannot be caught and metatables are not accessible, so a script cannot exceed its bounds. Changing a
 *   library is an error.
 * - Functions whose time depends on their arguments charge for it. */
#include "Script.h"

#include <string.h>

const char clua_seed_key = 0;

/* Work of string.format for one conversion. */
#define TEXT_WORK 8
#define FLOAT_WORK 64

/* Our wrappers have the wrapped library function as first upvalue. */
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

/* For functions that may read all of their text arguments. A number argument can be a long text too. */
static int charged(lua_State *L) { return charged_from(L, 1); }
/* For functions that read only a part of their first argument. */
static int charged_behind(lua_State *L) { return charged_from(L, 2); }

/* math.random has its own upvalue, so call it through Lua and not directly. */
static int draw(lua_State *L) {
    clua_charge_texts(L, 1);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_call(L, lua_gettop(L) - 1, 1);
    return 1;
}

/* Charges for the items from one index to another. */
static void charge_items(lua_State *L, lua_Integer from, lua_Integer to) {
    if (to >= from) clua_charge(L, (uint64_t)to - (uint64_t)from);
}

static int concatenate(lua_State *L) {
    clua_charge_texts(L, 2);
    luaL_checktype(L, 1, LUA_TTABLE);
    charge_items(L, luaL_optinteger(L, 3, 1), luaL_optinteger(L, 4, (lua_Integer)lua_rawlen(L, 1)));
    return inner(L)(L);
}

/* insert and remove: with a position, the items after it are moved. */
static int move(lua_State *L, int arguments) {
    if (lua_gettop(L) >= arguments) {
        if (lua_type(L, 2) == LUA_TSTRING) clua_charge_texts(L, 2);
        luaL_checktype(L, 1, LUA_TTABLE);
        lua_Integer place = luaL_checkinteger(L, 2);
        /* Other positions are errors. */
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
    /* Repeating an empty text would still loop `count` times. */
    if (count > 0 && lua_rawlen(L, 1) == 0 && (lua_isnoneornil(L, 3) || lua_rawlen(L, 3) == 0)) {
        lua_pushliteral(L, "");
        return 1;
    }
    /* A result that is too large fails at once, without cost. */
    if (count > 0 && (uint64_t)count <= clua_text_limit(&clua_script_of(L)->limits)) clua_charge(L, (uint64_t)count / 4);
    return inner(L)(L);
}

/* The iterator of utf8.codes, which skips continuation bytes. */
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

/* Pushes the text of a value, without its address, because addresses differ from run to run. */
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
        if (text[at] == 'p') return luaL_error(L, "%%p is not supported");
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
    const char *name;
    lua_CFunction around; /* NULL: copied unchanged */
} member;

/* Copies members of the library on top of the stack to the table below it, and pops the library. */
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

/* Adds the library on top of the stack to the table below it, behind a read-only proxy. */
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
    add(L, "pairs", clua_pairs);
    add(L, "tostring", to_string);
    lua_pushlightuserdata(L, NULL);
    lua_setfield(L, -2, "null");

    lua_newtable(L);
    open(L, luaopen_string);
    copy(L, string);
    clua_add_patterns(L);
    /* Use these functions for methods of strings too, and charge for arithmetic on strings. */
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
