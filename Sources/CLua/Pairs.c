/* pairs in a fixed order: numbers ascending, then strings in byte order, then false, true and null. Functions and
 * tables could only be ordered by address, and addresses differ from run to run. */
#include "Script.h"

#include <stdlib.h>
#include <string.h>

/* Work for each key. */
#define KEY_WORK 4

/* Kept small, because the keys of a table must fit into one block. */
typedef struct {
    uint8_t rank; /* of the key's type */
    bool is_integer;
    uint32_t place; /* index in the list of keys */
    union {
        lua_Integer integer;
        lua_Number number;
        struct { const char *text; size_t length; } name;
    } key;
} sort_key;

enum { RANK_NUMBER, RANK_NAME, RANK_BOOLEAN, RANK_NULL };

static lua_Number number_of(const sort_key *key) {
    return key->is_integer ? (lua_Number)key->key.integer : key->key.number;
}

/* The keys of a table are distinct, so equality does not occur. */
static int order(const void *a, const void *b) {
    const sort_key *left = a, *right = b;
    if (left->rank != right->rank) return left->rank - right->rank;
    if (left->rank == RANK_NAME) {
        size_t mine = left->key.name.length, others = right->key.name.length;
        int difference = memcmp(left->key.name.text, right->key.name.text, mine < others ? mine : others);
        return difference != 0 ? difference : mine < others ? -1 : 1;
    }
    if (left->is_integer && right->is_integer) return left->key.integer < right->key.integer ? -1 : 1;
    return number_of(left) < number_of(right) ? -1 : 1;
}

/* Describes the key on top of the stack. */
static sort_key key_of(lua_State *L, size_t place) {
    sort_key key = {.is_integer = true, .place = (uint32_t)place};
    switch (lua_type(L, -1)) {
    case LUA_TNUMBER:
        key.rank = RANK_NUMBER;
        key.is_integer = lua_isinteger(L, -1);
        if (key.is_integer) {
            key.key.integer = lua_tointeger(L, -1);
        } else {
            key.key.number = lua_tonumber(L, -1);
        }
        break;
    case LUA_TSTRING:
        key.rank = RANK_NAME;
        key.key.name.text = lua_tolstring(L, -1, &key.key.name.length);
        clua_charge(L, key.key.name.length / 16);
        break;
    case LUA_TBOOLEAN:
        key.rank = RANK_BOOLEAN;
        key.key.integer = lua_toboolean(L, -1);
        break;
    case LUA_TLIGHTUSERDATA: key.rank = RANK_NULL; break;
    default: luaL_error(L, "pairs cannot order keys of type %s", luaL_typename(L, -1));
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

int clua_pairs(lua_State *L) {
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
        keys[found] = key_of(L, found);
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
