/* Runs Lua scripts that transform events. Lua reports errors with longjmp, which must not cross a Swift frame. So
 * this header exposes nothing of Lua's own interface, and every function below returns normally.
 *
 * A script is the body of a function with one parameter, `event`. It can use only what Sandbox.c lists: no files, no
 * processes, no clock, nothing that differs from run to run. Each call is bounded in instructions, time, memory and
 * output. Each call starts with the same globals, so it cannot affect the next one.
 *
 * One thread at a time may use a script. */
#ifndef CLUA_H
#define CLUA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef struct clua_script clua_script;

typedef struct {
    /* Maximum instructions for one call. Library functions are charged in proportion to their time. */
    uint64_t instructions;
    /* Maximum processor time of the calling thread, in nanoseconds. Bounds work that cannot be counted. */
    uint64_t time;
    /* Maximum memory of the Lua state in bytes, including what Lua itself needs. */
    size_t memory;
    /* Maximum total size of the events that one call returns, in bytes. */
    size_t output;
} clua_limits;

/* Interrupts a running call. `is_raised` is called often during a call, on the calling thread. */
typedef struct {
    bool (*is_raised)(const void *context); /* NULL: no interruption */
    const void *context;
} clua_interruption;

/* The error of a failed call. */
typedef struct {
    /* Line in the script, starting at 1; 0: unknown. */
    int line;
    char message[256]; /* UTF-8, NUL-terminated */
} clua_failure;

/* Range of one event in the output of a call. */
typedef struct {
    size_t offset;
    size_t length;
} clua_event;

/* Maximum number of events that one call may return. */
#define CLUA_MAXIMUM_EVENTS 1000
/* Maximum length of a messageId, in characters. */
#define CLUA_MAXIMUM_ID 100

/* Compiles a script. Returns NULL, with the reason in `failure`, if the script is invalid or memory is short. */
clua_script *clua_create(const char *source, size_t length, const clua_limits *limits, clua_failure *failure);
void clua_destroy(clua_script *script);
/* Call only between calls of the script. The context must outlive the script. */
void clua_set_interruption(clua_script *script, clua_interruption interruption);

/* Calls the script with one event: a valid JSON object. `seed` is the seed of math.random. A raised interruption
 * makes the call fail within a few hundred Lua instructions.
 *
 * Returns the number of events, or -1 with the reason in `failure`. Read the events with clua_events; they are valid
 * until the next call. If several events have the original messageId, the second and later ones get ":1", ":2" …
 * appended. An id that would then have more than CLUA_MAXIMUM_ID characters is shortened. */
int clua_call(clua_script *script, const uint8_t *json, size_t length, uint64_t seed, clua_failure *failure);
const clua_event *clua_events(const clua_script *script);
const uint8_t *clua_output(const clua_script *script);

#endif
