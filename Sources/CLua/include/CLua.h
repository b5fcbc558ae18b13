/* Lua scripts that make events of events. Lua's errors are longjmps, which must not cross a frame of
 * Swift's; so nothing of Lua's own interface is shown here, and every call below returns.
 *
 * A script is the body of a function with one parameter, `event`. What it can reach is what is said
 * in Sandbox.c: no files, no processes, no clock, nothing that differs from run to run. Each call is
 * bounded in instructions, time, memory and output, and starts with the same globals: nothing that a call
 * does is seen by the next one.
 *
 * A script belongs to one thread at a time. */
#ifndef CLUA_H
#define CLUA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clua_script clua_script;

typedef struct {
    /* Of one call. What library functions do is counted as well, about as long as it takes. */
    uint64_t instructions;
    /* Of the calling thread, in nanoseconds: for what cannot be counted. */
    uint64_t time;
    /* Bytes of the script's state, what Lua itself needs included. */
    size_t memory;
    /* Bytes of the events that one call may give. */
    size_t output;
} clua_limits;

/* Asks a running call to end early. `is_raised` is called within calls, often, on the calling thread. */
typedef struct {
    bool (*is_raised)(const void *context); /* NULL: nobody asks */
    const void *context;
} clua_interruption;

/* What went wrong. */
typedef struct {
    /* In the script, from 1; 0: not known. */
    int line;
    char message[256]; /* UTF-8, ended by 0 */
} clua_failure;

/* One event among the output of a call. */
typedef struct {
    size_t offset;
    size_t length;
} clua_event;

/* Events that one call may give. */
#define CLUA_MAXIMUM_EVENTS 1000
/* Characters of a messageId. */
#define CLUA_MAXIMUM_ID 100

/* Compiles a script. NULL: it has no meaning, or there is no memory; `failure` says. */
clua_script *clua_create(const char *source, size_t length, const clua_limits *limits, clua_failure *failure);
void clua_destroy(clua_script *script);
/* Between calls. The context has to outlive the script. */
void clua_set_interruption(clua_script *script, clua_interruption interruption);

/* Calls the script with one event: a JSON object, known to be valid. `seed` is what math.random
 * starts from. A raised interruption makes the call fail within some hundred of Lua's instructions.
 *
 * Returns how many events it gave, or -1; `failure` says why. They are read with clua_events, and
 * valid until the next call. Of several, all but the first that have the event's own messageId get it
 * with ":1", ":2" … at its end, and shortened if it had more than CLUA_MAXIMUM_ID characters then. */
int clua_call(clua_script *script, const uint8_t *json, size_t length, uint64_t seed, clua_failure *failure);
const clua_event *clua_events(const clua_script *script);
const uint8_t *clua_output(const clua_script *script);

#endif
