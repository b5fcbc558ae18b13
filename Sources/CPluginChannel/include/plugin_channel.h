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
 *
 * A source:
 *   LOAD, SOURCE_CREATE, CONNECT, START ---> calls the plugin's function
 *              <----------------------------- OFFER, LANE_OPENED, LANE_CLOSED, PROBLEM, FAIL, LOG ...: from START on
 *   STORED (offers that are durable) ------> durable for each, then ready if an offer was declined and there is room
 *   STOP, STORED ..., DESTROY ------------->
 *
 * The window. Each offer costs its bytes, and a fixed number for itself and for each event. The offers that have been
 * sent and not yet been reported as stored cost at most the window that SOURCE_CREATE names; an offer that is larger is
 * sent only when there is no other one. The plugin's process answers BUSY when an offer would pass the window, and the
 * daemon ends a process that passes it.
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
#define PLUGIN_CHANNEL_DESCRIPTION_LIMIT 2105735u
#define PLUGIN_CHANNEL_LOG_LIMIT 8192u
#define PLUGIN_CHANNEL_REASON_LIMIT 1024u
#define PLUGIN_CHANNEL_ERROR_LIMIT 1024u

/* The bounds of an offer: its events, the bytes of its events (SOURCE_CREATE may name fewer), the bytes of one event that is offered alone, and the
 * bytes of the name of a lane and of a position. */
#define PLUGIN_OFFER_EVENTS 1000u
#define PLUGIN_OFFER_BYTES (256u << 10)
#define PLUGIN_OFFER_EVENT_BYTES (PLUGIN_CHANNEL_LIMIT - 1024u)
#define PLUGIN_LANE_LIMIT 64u
/* The text of a UUID. */
#define PLUGIN_ORIGIN_LENGTH 36u
/* The longest name of a host (HOST_NAME_MAX is 64; RFC 1035 allows 253). */
#define PLUGIN_HOST_LIMIT 255u
/* What an offer costs of the window, beside its bytes. */
#define PLUGIN_OFFER_COST 256u
#define PLUGIN_OFFER_EVENT_COST 64u

/* The sizes in version 1.0 of the structs that a plugin passes: an older plugin's may be as small. What a later version
 * added is read only if struct_size or the stride covers it. */
#define PLUGIN_SIZE_1_0 56u
#define PLUGIN_POSITION_SIZE_1_0 16u
#define PLUGIN_OUTCOME_SIZE_1_0 16u
/* The same of version 1.1. */
#define PLUGIN_SIZE_1_1 64u
#define PLUGIN_SOURCE_SIZE_1_1 32u
#define PLUGIN_OFFER_SIZE_1_1 80u

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
    PLUGIN_SOURCE_CREATE = 11, /* plugin_source_create, then source, journal, settings and paths, each ended by a NUL */
    PLUGIN_START = 12,  /* a plugin_lane for each lane, each with its name and its position behind it */
    PLUGIN_STORED = 13, /* plugin_stored for each offer, each with what belongs to it behind it */

    /* What the plugin's process sends. */
    PLUGIN_REPLY = 32,    /* plugin_reply, then a text */
    PLUGIN_COMPLETE = 33, /* plugin_complete, plugin_outcome for each event given, then the reasons; token: the batch's */
    PLUGIN_READY = 34,
    PLUGIN_LOG = 35,      /* token: the level; the text */
    PLUGIN_COUNTER = 36,  /* token: the amount; the name */
    PLUGIN_GAUGE = 37,    /* token: the bits of a double; the name */
    PLUGIN_OFFER = 38,    /* plugin_offer, then the penstock_place of each event if there is an origin, its receive time
                           * (int64_t) if there are times, its length (uint32_t), the lane's name, the position, the
                           * origin, the host, and the events, each with a line feed; token: the plugin's */
    PLUGIN_LANE_OPENED = 39, /* the name */
    PLUGIN_LANE_CLOSED = 40, /* the name */
    PLUGIN_PROBLEM = 41,  /* the text; empty: there is none */
    PLUGIN_FAIL = 42,     /* the reason */
    PLUGIN_LANE_UNTIL = 43 /* token: the deadline; the name */
};

/* Which of the texts of a description the plugin has (the others are empty), and what it is. */
#define PLUGIN_HAS_SCHEMA 1u
#define PLUGIN_HAS_NEEDS 2u
#define PLUGIN_IS_SINK 4u
#define PLUGIN_IS_SOURCE 8u
#define PLUGIN_SOURCE_HAS_SCHEMA 16u
#define PLUGIN_SOURCE_HAS_NEEDS 32u
#define PLUGIN_SOURCE_INVALID 64u

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
    uint32_t flags; /* as in penstock_batch */
    int64_t deadline_ns;
    uint64_t first_position, last_position;
} plugin_deliver;

typedef struct {
    int32_t status;
    uint32_t text_length; /* LOAD: the seven texts, each ended by a NUL. Otherwise: the error. */
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

typedef struct {
    int32_t log_level; /* the least severe level that is logged */
    uint32_t source_size, journal_size, settings_size; /* with the NUL */
    uint32_t paths_size; /* of the settings that are paths; 0: there are none */
    uint32_t max_offer_bytes; /* at most PLUGIN_OFFER_BYTES */
    uint64_t window; /* bytes */
} plugin_source_create;

typedef struct {
    uint32_t name_length, position_length;
} plugin_lane;

typedef struct {
    uint32_t count; /* of its events */
    uint32_t name_length, position_length;
    uint32_t origin_length; /* 0 or PLUGIN_ORIGIN_LENGTH */
    uint32_t host_length;
    uint32_t has_times; /* 0 or 1 */
} plugin_offer;

/* An offer that is stored. Behind it: a plugin_refused for each refused event, the lane's name, the position, and the
 * reasons. */
typedef struct {
    uint64_t token; /* the plugin's */
    uint64_t cost;  /* of the window */
    uint32_t refused;
    uint32_t name_length, position_length;
    uint32_t reasons_length; /* of all */
} plugin_stored;

typedef struct {
    uint32_t index;
    uint32_t reason_length;
} plugin_refused;

#endif
