#include "Script.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char clua_shapes_key = 0;
static const char function_key = 0;
static const char globals_key = 0;

const char *clua_type_name(lua_State *L, int index) {
    return lua_islightuserdata(L, index) ? "null" : luaL_typename(L, index);
}

/* Message handler: records the line of an error while the stack still exists. */
static int note_place(lua_State *L) {
    clua_script_of(L)->failed_line = clua_current_line(L);
    return 1;
}

/* Removes "script:3: " from a message and makes the rest one line of printable text. */
static void describe(const clua_script *script, const char *text, size_t length, clua_failure *failure) {
    static const char prefix[] = "script:";
    failure->line = script == NULL ? 0 : script->failed_line;
    if (length > sizeof prefix && memcmp(text, prefix, sizeof prefix - 1) == 0) {
        size_t at = sizeof prefix - 1;
        int line = 0;
        while (at < length && isdigit((unsigned char)text[at]) && line < 100000000) line = line * 10 + (text[at++] - '0');
        if (at + 1 < length && text[at] == ':' && text[at + 1] == ' ') {
            failure->line = line;
            text += at + 2;
            length -= at + 2;
        }
    }
    if (length > sizeof failure->message - 1) {
        length = sizeof failure->message - 1;
        while (length > 0 && ((unsigned char)text[length] & 0xC0) == 0x80) length--;
    }
    for (size_t k = 0; k < length; k++)
        failure->message[k] = (unsigned char)text[k] < 0x20 || text[k] == 0x7F ? ' ' : text[k];
    failure->message[length] = 0;
}

static void fail(clua_script *script, int status, clua_failure *failure) {
    lua_State *L = script->state;
    char text[128];
    if (status == LUA_ERRMEM) {
        int length = snprintf(text, sizeof text,
                              "needs more than %zu bytes of memory, %zu for one table, or %zu for one text",
                              script->limits.memory, clua_table_limit(&script->limits), clua_text_limit(&script->limits));
        describe(script, text, (size_t)length, failure);
    } else if (lua_type(L, -1) == LUA_TSTRING) {
        size_t length;
        const char *message = lua_tolstring(L, -1, &length);
        describe(script, message, length, failure);
    } else {
        static const char other[] = "the script raised an error that is not text";
        describe(script, other, sizeof other - 1, failure);
    }
    lua_settop(L, 0);
}

typedef struct {
    const char *source;
    size_t length;
} clua_source;

static const char *read_source(lua_State *L, void *context, size_t *size) {
    (void)L;
    /* On the script's first line, so that line numbers stay correct. */
    static const char head[] = "local event = ...; ";
    clua_source *source = context;
    if (source[1].source == NULL) {
        source[1].source = head;
        *size = sizeof head - 1;
        return head;
    }
    const char *text = source->source;
    *size = text == NULL ? 0 : source->length;
    source->source = NULL;
    return text;
}

static int load(lua_State *L) {
    clua_source *source = lua_touserdata(L, 1);
    clua_push_sandbox(L);
    lua_createtable(L, 0, 3);
    lua_pushvalue(L, -2);
    lua_setfield(L, -2, "__index");
    lua_rawsetp(L, LUA_REGISTRYINDEX, &globals_key);
    /* Reserve the slot now, so that setting it later allocates nothing. */
    lua_pushboolean(L, 0);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &clua_shapes_key);
    clua_source parts[2] = {*source, {NULL, 0}};
    if (lua_load(L, read_source, parts, "=script", "t") != LUA_OK) return lua_error(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &function_key);
    return 0;
}

/* Whether the table on top of the stack is empty. */
static bool is_empty(lua_State *L) {
    lua_pushnil(L);
    if (lua_next(L, -2) == 0) return true;
    lua_pop(L, 2);
    return false;
}

static int run(lua_State *L) {
    clua_script *script = clua_script_of(L);
    clua_check_interruption(L);
    lua_newtable(L);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &clua_shapes_key);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &clua_seed_key);
    lua_pushinteger(L, (lua_Integer)script->seed);
    lua_call(L, 1, 0);

    clua_push_event(L, script);
    lua_pushliteral(L, "messageId");
    lua_rawget(L, -2);
    /* The pointer stays valid, because the string stays on the stack. */
    script->id = lua_type(L, -1) == LUA_TSTRING ? lua_tolstring(L, -1, &script->id_length) : NULL;

    /* Each call has its own globals, so a global set by one call is not visible to the next. */
    lua_rawgetp(L, LUA_REGISTRYINDEX, &function_key);
    lua_newtable(L);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &globals_key);
    lua_setmetatable(L, -2);
    if (lua_setupvalue(L, -2, 1) == NULL) lua_pop(L, 1);
    lua_pushvalue(L, -3);
    lua_call(L, 1, 1);

    if (lua_isnil(L, -1)) return 0;
    if (!lua_istable(L, -1)) return luaL_error(L, "the script returned a %s, not an event", clua_type_name(L, -1));
    uint32_t shape = clua_shape_of(L, -1);
    bool is_list = shape == CLUA_NEW_LIST || (shape != 0 && script->shapes[shape].is_list);
    if (!is_list && lua_rawlen(L, -1) == 0) {
        /* An empty table means no event. */
        if (!is_empty(L)) clua_write_event(L, script, 0);
        return 0;
    }
    lua_Integer count = (lua_Integer)lua_rawlen(L, -1);
    if (count > CLUA_MAXIMUM_EVENTS)
        return luaL_error(L, "the script returned more than %d events", CLUA_MAXIMUM_EVENTS);
    for (lua_Integer i = 1; i <= count; i++) {
        lua_rawgeti(L, -1, i);
        if (!lua_istable(L, -1))
            return luaL_error(L, "item %d of the returned list is a %s, not an event", (int)i, clua_type_name(L, -1));
        if (is_empty(L)) return luaL_error(L, "item %d of the returned list is empty, not an event", (int)i);
        clua_write_event(L, script, (int)i - 1);
        lua_pop(L, 1);
    }
    return 0;
}

/* Calls one of our C functions and catches all Lua errors. */
static int protect(clua_script *script, lua_CFunction function, void *argument) {
    lua_State *L = script->state;
    lua_settop(L, 0);
    script->failed_line = 0;
    /* None of these three calls allocates. */
    lua_pushcfunction(L, note_place);
    lua_pushcfunction(L, function);
    lua_pushlightuserdata(L, argument);
    clua_begin(script);
    int status = lua_pcall(L, 1, 0, 1);
    clua_end(script);
    return status;
}

clua_script *clua_create(const char *source, size_t length, const clua_limits *limits, clua_failure *failure) {
    static const char no_memory[] = "not enough memory";
    clua_script *script = calloc(1, sizeof *script);
    if (script != NULL) {
        script->limits = *limits;
        script->entry_count = script->shape_count = 1;
        script->state = lua_newstate(clua_allocate, script);
    }
    if (script == NULL || script->state == NULL) {
        describe(NULL, no_memory, sizeof no_memory - 1, failure);
        free(script);
        return NULL;
    }
    *(clua_script **)lua_getextraspace(script->state) = script;
    clua_source text = {source, length};
    int status = protect(script, load, &text);
    if (status == LUA_OK) {
        lua_settop(script->state, 0);
        /* Long constants of the script exist in every call. */
        script->first_interval = script->interval;
        return script;
    }
    fail(script, status, failure);
    clua_destroy(script);
    return NULL;
}

void clua_destroy(clua_script *script) {
    if (script == NULL) return;
    lua_close(script->state);
    free(script->entries);
    free(script->shapes);
    free(script->scratch);
    free(script->output);
    free(script);
}

void clua_set_interruption(clua_script *script, clua_interruption interruption) {
    script->interruption = interruption;
}

/* Releases the values of the last call, so that the next call does not have to collect them at its own cost. Nothing
 * here allocates or fails. */
static void forget(clua_script *script) {
    lua_State *L = script->state;
    lua_pushboolean(L, 0);
    lua_rawsetp(L, LUA_REGISTRYINDEX, &clua_shapes_key);
    lua_rawgetp(L, LUA_REGISTRYINDEX, &function_key);
    lua_pushnil(L);
    if (lua_setupvalue(L, -2, 1) == NULL) lua_pop(L, 1);
    lua_pop(L, 1);
    if (script->used > script->limits.memory / 2) lua_gc(L, LUA_GCCOLLECT);
}

int clua_call(clua_script *script, const uint8_t *json, size_t length, uint64_t seed, clua_failure *failure) {
    script->json = json;
    script->length = length;
    script->seed = seed;
    script->entry_count = script->shape_count = 1;
    script->output_count = 0;
    script->event_count = 0;
    int status = protect(script, run, NULL);
    script->json = NULL;
    script->id = NULL;
    if (status == LUA_OK) {
        lua_settop(script->state, 0);
    } else {
        fail(script, status, failure);
    }
    forget(script);
    return status == LUA_OK ? script->event_count : -1;
}

const clua_event *clua_events(const clua_script *script) { return script->events; }
const uint8_t *clua_output(const clua_script *script) { return script->output; }
