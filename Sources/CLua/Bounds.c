/* Bounds of a call: work, memory, processor time, and interruption.
 *
 * The count of work is the bound that scripts normally reach, because it is about the same each time an event is
 * routed. A few Lua instructions count as one but take time in proportion to their operands, such as a comparison of
 * two long texts. The processor time bounds these. Such an instruction works on one block of memory, so the larger
 * the largest block, the more often the time is checked. At most a few milliseconds pass between two checks. */
#include "Script.h"

#include <stdlib.h>
#include <time.h>

/* Work between two checks while all blocks are small. */
#define INTERVAL 100
#define SMALL_BLOCK (16 << 10)
/* Minimum work of a charged operation. */
#define CALL_WORK 4

clua_script *clua_script_of(lua_State *L) { return *(clua_script **)lua_getextraspace(L); }

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec time = {0};
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void clua_check_interruption(lua_State *L) {
    const clua_interruption *interruption = &clua_script_of(L)->interruption;
    if (interruption->is_raised != NULL && interruption->is_raised(interruption->context))
        luaL_error(L, "interrupted: the destination stops");
}

/* The thread's clock needs a system call. So it is read only after a coarse clock, which it cannot overtake, has
 * advanced far enough. A call that ends before the coarse clock's next tick never reads it. */
static void look_at_time(lua_State *L, clua_script *script) {
    script->unlooked = 0;
    clua_check_interruption(L);
    uint64_t now = nanoseconds(CLOCK_MONOTONIC_COARSE);
    if (now < script->next_look) return;
    if (script->next_look == 0) {
        script->next_look = now + 1;
        return;
    }
    uint64_t used = nanoseconds(CLOCK_THREAD_CPUTIME_ID);
    if (script->time_before == 0) script->time_before = used;
    used -= script->time_before;
    if (used >= script->limits.time) {
        lua_pushfstring(L, "stopped after %I ms of processor time", (LUAI_UACINT)(script->limits.time / 1000000));
        lua_error(L);
    }
    script->next_look = now + (script->limits.time - used);
}

static void charge(lua_State *L, clua_script *script, uint64_t work) {
    uint64_t limit = script->limits.instructions;
    script->spent = work > limit ? limit + 1 : script->spent + work;
    if (script->spent <= limit) return;
    lua_pushfstring(L, "stopped after %I instructions", (LUAI_UACINT)limit);
    lua_error(L);
}

void clua_charge(lua_State *L, uint64_t work) {
    clua_script *script = clua_script_of(L);
    charge(L, script, work);
    script->unlooked += work + CALL_WORK;
    if (script->unlooked >= (uint64_t)script->interval) look_at_time(L, script);
}

static void hook(lua_State *L, lua_Debug *activation) {
    (void)activation;
    clua_script *script = clua_script_of(L);
    charge(L, script, (uint64_t)script->interval);
    look_at_time(L, script);
}

static void set_interval(clua_script *script, int interval) {
    script->interval = interval;
    /* Safe inside an allocation, like in a signal handler, because lua_sethook only sets fields. */
    if (script->is_running) lua_sethook(script->state, hook, LUA_MASKCOUNT, interval);
}

void clua_begin(clua_script *script) {
    script->spent = 0;
    script->unlooked = 0;
    script->next_look = 0;
    script->time_before = 0;
    script->is_running = true;
    set_interval(script, script->first_interval == 0 ? INTERVAL : script->first_interval);
}

void clua_end(clua_script *script) {
    script->is_running = false;
    lua_sethook(script->state, NULL, 0, 0);
}

int clua_current_line(lua_State *L) {
    lua_Debug activation;
    for (int level = 0; lua_getstack(L, level, &activation); level++) {
        lua_getinfo(L, "l", &activation);
        if (activation.currentline > 0) return activation.currentline;
    }
    return 0;
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

size_t clua_text_limit(const clua_limits *limits) { return smaller(limits->memory / 32, 1 << 20); }
size_t clua_table_limit(const clua_limits *limits) { return smaller(limits->memory / 16, 4 << 20); }

/* Refuses an allocation. Lua then collects all garbage and tries once more. */
static void *refuse(clua_script *script) {
    /* Save the line here, because Lua runs no message handler for a memory error. */
    if (script->is_running) script->failed_line = clua_current_line(script->state);
    return NULL;
}

void *clua_allocate(void *context, void *block, size_t old, size_t size) {
    clua_script *script = context;
    /* For a new block, Lua passes the type of the object instead of the old size. */
    bool is_text = block == NULL && old == LUA_TSTRING;
    if (block == NULL) old = 0;
    if (size == 0) {
        free(block);
        script->used -= old;
        return NULL;
    }
    if (size > old) {
        if (size > (is_text ? clua_text_limit(&script->limits) : clua_table_limit(&script->limits))) return refuse(script);
        if (script->used - old + size > script->limits.memory) {
            script->spent += script->used / 256;
            if (script->interval > 1) set_interval(script, 1);
            return refuse(script);
        }
        script->spent += (size - old) / 64;
        if (size > SMALL_BLOCK) {
            size_t interval = (size_t)INTERVAL * SMALL_BLOCK / size;
            if (interval < (size_t)script->interval) set_interval(script, interval == 0 ? 1 : (int)interval);
        }
    }
    void *moved = realloc(block, size);
    /* Lua requires that shrinking a block never fails. */
    if (moved == NULL) return size <= old ? block : NULL;
    script->used = script->used - old + size;
    return moved;
}

void *clua_reserve(lua_State *L, void *items, size_t *capacity, size_t count, size_t size) {
    if (count <= *capacity) return items;
    size_t wanted = *capacity < 64 ? 64 : *capacity * 2;
    if (wanted < count) wanted = count;
    void *moved = realloc(items, wanted * size);
    if (moved == NULL) luaL_error(L, "not enough memory");
    *capacity = wanted;
    return moved;
}
