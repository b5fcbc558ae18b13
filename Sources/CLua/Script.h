/* Declarations shared by the files of CLua. */
#ifndef CLUA_SCRIPT_H
#define CLUA_SCRIPT_H

#include "CLua.h"

#if __has_include(<lua5.4/lua.h>) /* Debian */
#include <lua5.4/lauxlib.h>
#include <lua5.4/lua.h>
#include <lua5.4/lualib.h>
#else
#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#endif
#include <stdbool.h>

/* Maximum levels of nested objects and lists, for reading and for writing. */
#define CLUA_MAXIMUM_DEPTH 128

#define CLUA_MEMBER_WORK 2

enum clua_type { CLUA_NULL, CLUA_FALSE, CLUA_TRUE, CLUA_NUMBER, CLUA_STRING, CLUA_TABLE };

/* A value of the event as received, so that unchanged values can be written with their original bytes. */
typedef struct {
    uint32_t name, name_length; /* offset and length of the name's escaped contents; 0 for an item of a list */
    uint32_t value, value_length;
    uint32_t next; /* next entry of the same object or list; 0: none */
    uint8_t type;
    bool is_name_escaped;
    bool is_value_escaped;
    bool is_replaced; /* a later member has the same name */
} clua_entry;

/* An object or a list of the event. */
typedef struct {
    uint32_t first, last; /* indexes of entries; 0: none */
    bool is_list;
} clua_shape;

struct clua_script {
    lua_State *state;
    clua_limits limits;
    clua_interruption interruption;
    size_t used;
    uint64_t spent;
    /* Work between two checks of the time, now and at the start of a call; and work since the last check. */
    int interval, first_interval;
    uint64_t unlooked;
    /* Earliest coarse time at which the time limit can be exceeded; 0: no check yet. The thread's processor time at
     * the first check; 0: not known. */
    uint64_t next_look, time_before;
    bool is_running;

    const uint8_t *json;
    size_t length;
    uint64_t seed;
    /* The event's decoded messageId during a call; NULL: no messageId. */
    const char *id;
    size_t id_length;
    /* Index 0 of both arrays means none. */
    clua_entry *entries;
    size_t entry_count, entry_capacity;
    clua_shape *shapes;
    size_t shape_count, shape_capacity;
    /* Buffer for decoded text. */
    char *scratch;
    size_t scratch_capacity;

    uint8_t *output;
    size_t output_count, output_capacity;
    clua_event events[CLUA_MAXIMUM_EVENTS];
    int event_count;
    int failed_line;
};

/* The script that owns a Lua state. */
clua_script *clua_script_of(lua_State *L);
/* Start and end the bounds of a call. All calls that may raise an error must be between them. */
void clua_begin(clua_script *script);
void clua_end(clua_script *script);
/* Current line of the script, starting at 1; 0: not in the script. */
int clua_current_line(lua_State *L);
/* Maximum size in bytes of one text, and of any other block. */
size_t clua_text_limit(const clua_limits *limits);
size_t clua_table_limit(const clua_limits *limits);
/* The allocator of the Lua state. */
void *clua_allocate(void *script, void *block, size_t old, size_t size);

/* The functions below may raise a Lua error. Call them only in a protected call. */

/* Fails the call if an interruption is raised. */
void clua_check_interruption(lua_State *L);
/* Charges for work that Lua does not count itself, in instructions. */
void clua_charge(lua_State *L, uint64_t work);
/* Charges for a member or item that is read or written, in addition to its bytes. To be cheap, it charges for sixteen
 * at once; `number` is the number of members so far. */
static inline void clua_charge_member(lua_State *L, size_t number) {
    if (number % 16 == 0) clua_charge(L, 16 * CLUA_MEMBER_WORK);
}
/* Charges for reading the text arguments of a function, from argument `first` on. */
void clua_charge_texts(lua_State *L, int first);
/* Reserves space for `count` items of `size` bytes. Not part of Lua's memory; bounded by the event and the output. */
void *clua_reserve(lua_State *L, void *items, size_t *capacity, size_t count, size_t size);

/* The type of a value, for messages. */
const char *clua_type_name(lua_State *L, int index);
/* Registry key of math.randomseed. */
extern const char clua_seed_key;
/* Registry key of the table that maps tables to their shapes. */
extern const char clua_shapes_key;
/* Pushes the sandbox, the table behind the globals of each call. */
void clua_push_sandbox(lua_State *L);
/* The function pairs. */
int clua_pairs(lua_State *L);
/* Adds find, match, gmatch and gsub to the table on top of the stack. */
void clua_add_patterns(lua_State *L);
/* Marks the table on top of the stack as a list, even if it is empty. */
void clua_mark_list(lua_State *L);

/* Pushes the event as a table. */
void clua_push_event(lua_State *L, clua_script *script);
/* Appends the value on top of the stack to the output as an event; `number` is its index, from 0. */
void clua_write_event(lua_State *L, clua_script *script, int number);
/* Returns the shape of a table; 0: created by the script; CLUA_NEW_LIST: created by the script as a list. */
#define CLUA_NEW_LIST UINT32_MAX
uint32_t clua_shape_of(lua_State *L, int table);
/* Decodes the contents of a JSON string into the scratch memory. */
size_t clua_decode(lua_State *L, clua_script *script, uint32_t start, uint32_t length);
/* Pushes the number with this JSON text. */
void clua_push_number(lua_State *L, clua_script *script, uint32_t start, uint32_t length);

#endif
