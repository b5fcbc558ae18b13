/* plugin_channel.h: the messages between the daemon and a plugin's process (penstock-plugin-host).
 *
 * Both programs come from the same build, so the messages have no version. They travel over a stream socket, and back
 * over a pipe, which carries no descriptors: a header, then `length` bytes. Numbers are in the machine's byte order.
 * Neither side trusts the other: the daemon because the plugin may have overwritten the process's memory, the plugin's
 * process because a bug should end it, not go on.
 *
 *   daemon                                   plugin's process
 *   LOAD, CREATE, CONNECT, ... ------------> calls the plugin's function
 *              <----------------------------- REPLY, one for each request, in order
 *   MAP (with a descriptor) ---------------> maps the memory of a slot, read only
 *   DELIVER (slot) ------------------------> a batch: events and payloads lie in the slot
 *              <----------------------------- COMPLETE, READY, LOG, COUNTER, GAUGE: at any time, from any thread
 */
#ifndef PENSTOCK_PLUGIN_CHANNEL_H
#define PENSTOCK_PLUGIN_CHANNEL_H

#include <stdint.h>

/* Descriptors of the plugin's process. */
#define PLUGIN_CHANNEL_SOCKET 3
#define PLUGIN_CHANNEL_LIBRARY 4
#define PLUGIN_CHANNEL_MESSAGES 5

/* Memory for batches. A slot holds one batch at a time. */
#define PLUGIN_CHANNEL_SLOTS 64u

/* The longest message. The settings and a schema are the longest texts; outcomes of a batch are bounded by its count. */
#define PLUGIN_CHANNEL_LIMIT (16u << 20)

/* The longest texts of a log line, of an outcome's reason, of an error, of a metric's name (one byte more than it may
 * have), and of what a plugin says about itself: name, version, summary, schema and needs, each with a NUL; in bytes. */
#define PLUGIN_CHANNEL_NAME_LIMIT 65u
#define PLUGIN_CHANNEL_DESCRIPTION_LIMIT 1053061u
#define PLUGIN_CHANNEL_LOG_LIMIT 8192u
#define PLUGIN_CHANNEL_REASON_LIMIT 1024u
#define PLUGIN_CHANNEL_ERROR_LIMIT 1024u

/* The sizes in version 1.0 of the structs that a plugin passes: an older plugin's may be as small. What a later version
 * added is read only if struct_size or the stride covers it. */
#define PLUGIN_SIZE_1_0 56u
#define PLUGIN_POSITION_SIZE_1_0 16u
#define PLUGIN_OUTCOME_SIZE_1_0 16u

enum plugin_channel_type {
    /* Requests. A request is answered by one PLUGIN_REPLY. */
    PLUGIN_LOAD = 1,
    PLUGIN_CREATE = 2,  /* plugin_create, then destination, journal, settings and paths, each ended by a NUL */
    PLUGIN_CONNECT = 3,
    PLUGIN_MAP = 4,     /* plugin_map, with a descriptor */
    PLUGIN_DELIVER = 5, /* plugin_deliver; token: the batch's */
    PLUGIN_FLUSH = 6,
    PLUGIN_DURABLE = 7,
    PLUGIN_STOP = 8,
    PLUGIN_DESTROY = 9,
    PLUGIN_PROBE = 10, /* for a conformance run: calls the entry function again, with other versions */

    /* What the plugin's process sends. */
    PLUGIN_REPLY = 32,    /* plugin_reply, then a text */
    PLUGIN_COMPLETE = 33, /* plugin_complete, plugin_outcome for each event given, then the reasons; token: the batch's */
    PLUGIN_READY = 34,
    PLUGIN_LOG = 35,      /* token: the level; the text */
    PLUGIN_COUNTER = 36,  /* token: the amount; the name */
    PLUGIN_GAUGE = 37     /* token: the bits of a double; the name */
};

/* Which of the texts of a description the plugin has; the other one is empty. */
#define PLUGIN_HAS_SCHEMA 1u
#define PLUGIN_HAS_NEEDS 2u

/* Statuses of a reply, beside those of penstock_plugin.h. */
#define PLUGIN_NOT_LOADABLE 100
#define PLUGIN_INCOMPATIBLE 101

typedef struct {
    uint32_t type;
    uint32_t length; /* of the bytes that follow */
    uint64_t token;
} plugin_header;

typedef struct {
    int32_t log_level; /* the least severe level that is logged */
    uint32_t destination_size, journal_size, settings_size; /* with the NUL */
    uint32_t paths_size; /* of the settings that are paths; 0: there are none */
} plugin_create;

typedef struct {
    uint32_t slot;
    uint32_t reserved;
    uint64_t size; /* of the memory behind the descriptor */
} plugin_map;

/* The slot begins with `count` penstock_event, `stride` bytes apart, whose pointers are valid in the plugin's process. */
typedef struct {
    uint32_t slot;
    uint32_t count;
    uint32_t stride;
    uint32_t reserved;
    int64_t deadline_ns;
    uint64_t first_position, last_position;
} plugin_deliver;

typedef struct {
    int32_t status;
    uint32_t text_length; /* LOAD: the five texts, each ended by a NUL. Otherwise: the error. */
    /* LOAD: ABI major, minor, PLUGIN_HAS_..., struct_size. CREATE: max_in_flight, max_batch_events, max_batch_bytes,
     * whether there is a position. MAP: the address. DURABLE: the position. */
    uint64_t values[4];
} plugin_reply;

typedef struct {
    /* As the plugin passed them. */
    uint32_t count, stride;
    /* The outcomes that follow; at most the batch's events. UINT32_MAX: the array is missing or the stride too small. */
    uint32_t given;
    uint32_t reserved;
} plugin_complete;

typedef struct {
    int32_t status;
    uint32_t retry_after_ms;
    uint32_t reason_length;
} plugin_outcome;

#endif
