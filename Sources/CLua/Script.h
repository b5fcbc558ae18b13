/* What the files of CLua share. */
#ifndef CLUA_SCRIPT_H
#define CLUA_SCRIPT_H

#include "CLua.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdbool.h>

/* Objects and lists within one another, in both directions. */
#define CLUA_MAXIMUM_DEPTH 128

#define CLUA_MEMBER_WORK 2

enum clua_type { CLUA_NULL, CLUA_FALSE, CLUA_TRUE, CLUA_NUMBER, CLUA_STRING, CLUA_TABLE };

/* A value of the event as it came: so that what the script does not touch is written as it was. */
typedef struct {
    uint32_t name, name_length; /* contents, escapes and all; of a list's item: nothing */
    uint32_t value, value_length;
    uint32_t next; /* of the same object or list; 0: none */
    uint8_t type;
    bool is_name_escaped;
    bool is_value_escaped;
    bool is_replaced; /* a later member has the same name */
} clua_entry;

/* An object or a list of the event. */
typedef struct {
    uint32_t first, last; /* entries; 0: none */
    bool is_list;
} clua_shape;

struct clua_script {
    lua_State *state;
    clua_limits limits;
    clua_interruption interruption;
    size_t used;
    uint64_t spent;
    /* Work between two looks at the time, in all and as a call begins, and since the last one. */
    int interval, first_interval;
    uint64_t unlooked;
    /* When a look can find the time spent; 0: there was none. What the thread had used; 0: not known. */
    uint64_t next_look, time_before;
    bool is_running;

    const uint8_t *json;
    size_t length;
    uint64_t seed;
    /* The event's messageId, decoded, while a call runs; NULL: it has none. */
    const char *id;
    size_t id_length;
    /* Number 0 of either means none. */
    clua_entry *entries;
    size_t entry_count, entry_capacity;
    clua_shape *shapes;
    size_t shape_count, shape_capacity;
    /* Decoded text. */
    char *scratch;
    size_t scratch_capacity;

    uint8_t *output;
    size_t output_count, output_capacity;
    clua_event events[CLUA_MAXIMUM_EVENTS];
    int event_count;
    int failed_line;
};

/* The script that a state belongs to. */
clua_script *clua_script_of(lua_State *L);
/* Around everything that may raise an error: bounds hold between these. */
void clua_begin(clua_script *script);
void clua_end(clua_script *script);
/* Where the script is, from 1; 0: not in it. */
int clua_current_line(lua_State *L);
/* Bytes of one text, and of any other block. */
size_t clua_text_limit(const clua_limits *limits);
size_t clua_table_limit(const clua_limits *limits);
/* Lua's memory. */
void *clua_allocate(void *script, void *block, size_t old, size_t size);

/* Everything below may raise one of Lua's errors: only within a protected call. */

/* Ends the call if somebody asks for that. */
void clua_check_interruption(lua_State *L);
/* Counts work that Lua does not count itself, in instructions. */
void clua_charge(lua_State *L, uint64_t work);
/* What a member or an item of the event costs that is read or written, beside its bytes: for every
 * sixteenth of them, `number` being how many there were. */
static inline void clua_charge_member(lua_State *L, size_t number) {
    if (number % 16 == 0) clua_charge(L, 16 * CLUA_MEMBER_WORK);
}
/* Counts what it takes to read the texts among a function's arguments, from one on. */
void clua_charge_texts(lua_State *L, int first);
/* Makes room for `count` items of `size` bytes; what C holds is bounded by the event and the output. */
void *clua_reserve(lua_State *L, void *items, size_t *capacity, size_t count, size_t size);

/* What a value is called in a message. */
const char *clua_type_name(lua_State *L, int index);
/* math.randomseed, in the registry. */
extern const char clua_seed_key;
/* The table that knows which table came from which shape. */
extern const char clua_shapes_key;
/* Pushes what scripts can reach, as the table behind the globals of a call. */
void clua_push_sandbox(lua_State *L);
/* pairs. */
int clua_pairs(lua_State *L);
/* Adds find, match, gmatch and gsub to the table on the stack's top. */
void clua_add_patterns(lua_State *L);
/* Marks the table on the stack's top as a list that may be empty. */
void clua_mark_list(lua_State *L);

/* Pushes the event. */
void clua_push_event(lua_State *L, clua_script *script);
/* Appends the value on the stack's top to the output; `number`: of the event, from 0. */
void clua_write_event(lua_State *L, clua_script *script, int number);
/* The number of a table's shape; 0: it was made by the script. CLUA_NEW_LIST: as a list. */
#define CLUA_NEW_LIST UINT32_MAX
uint32_t clua_shape_of(lua_State *L, int table);
/* Decodes the contents of a JSON string into the scratch memory. */
size_t clua_decode(lua_State *L, clua_script *script, uint32_t start, uint32_t length);
/* Pushes the number that stands there. */
void clua_push_number(lua_State *L, clua_script *script, uint32_t start, uint32_t length);

#endif
