/* penstock_plugin.h: the interface between Penstock and a sink plugin.
 *
 * A sink plugin is a shared library that takes batches of events and puts them somewhere. It
 * exports one function, penstock_plugin_entry, and needs nothing but this header: C11, C++, or
 * any language that speaks C. Plugins/Console is the one to copy.
 *
 *   host                                     plugin
 *   penstock_plugin_entry(major, minor) ---> who it is, what settings it takes
 *   create(host, settings) ----------------> an instance: limits, functions
 *   connect ------------------------------->
 *   deliver(batch) ------------------------> OK: taken
 *              <----------------------------- host->complete(token, outcomes), any thread
 *   flush, deliver, ... ------------------->
 *   stop, destroy ------------------------->
 *
 * Threads. Each function carries a tag:
 *   [worker]  called by the host, one call at a time for an instance, on a thread that may block.
 *             The thread may be a different one from call to call.
 *   [any]     called by the plugin from any thread, also several at once, also from inside a
 *             [worker] function. It never calls back into the plugin.
 * Once stop has returned, no thread of the plugin runs for that instance and nothing of the host
 * is called any more.
 *
 * Memory. Nobody frees what the other side allocated. What a plugin passes to the host is copied
 * before the call returns. An error is written into a buffer that the caller brings: up to
 * error_size bytes, the terminating NUL included.
 *
 * Manners. A plugin touches no signal dispositions, working directory, locale or environment of
 * its process and never forks. Its library is never unloaded while the process lives.
 *
 * Versions. The major number must match. Within a major, a struct that begins with struct_size
 * only ever grows at its end: compare struct_size before reading a field newer than the minor
 * you need. Arrays are walked with the stride that comes with them, never with sizeof. What is
 * optional is an extension, found by its id. Major 0 is a draft: it may still change.
 *
 * The layout is that of a 64-bit machine; layout.c asserts every offset.
 */
#ifndef PENSTOCK_PLUGIN_H
#define PENSTOCK_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define PENSTOCK_PLUGIN_MAJOR 0
#define PENSTOCK_PLUGIN_MINOR 0

#if defined(__GNUC__)
#define PENSTOCK_EXPORT __attribute__((visibility("default")))
#else
#define PENSTOCK_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* What a function of the plugin answers. Anything else is read as PENSTOCK_FAILED. */
#define PENSTOCK_OK 0
/* deliver only: not now, the batch was not taken. It is offered again after host->ready, or after
 * a while. */
#define PENSTOCK_BUSY 1
/* It did not work, and the error buffer says why. */
#define PENSTOCK_FAILED 2
/* penstock_position only: there is no position yet. */
#define PENSTOCK_NONE 3

/* What became of an event. Anything else is read as PENSTOCK_UNSETTLED. */
#define PENSTOCK_UNSETTLED 0 /* nothing was said about it: it is offered again */
#define PENSTOCK_DELIVERED 1 /* it is where it belongs, as durably as the sink can */
#define PENSTOCK_RETRY 2     /* offer it again, no sooner than retry_after_ms */
#define PENSTOCK_REJECTED 3  /* never: the host keeps it with the dead letters, and the reason */

/* Kinds of events. */
#define PENSTOCK_TRACK 1
#define PENSTOCK_IDENTIFY 2
#define PENSTOCK_PAGE 3
#define PENSTOCK_SCREEN 4
#define PENSTOCK_GROUP 5
#define PENSTOCK_ALIAS 6

/* Severity of a log line: syslog's numbers. */
#define PENSTOCK_LOG_ERROR 3
#define PENSTOCK_LOG_WARNING 4
#define PENSTOCK_LOG_NOTICE 5
#define PENSTOCK_LOG_INFO 6
#define PENSTOCK_LOG_DEBUG 7

/* UTF-8, not terminated. data may be NULL if length is 0. This struct never grows. */
typedef struct penstock_string {
    const char *data;
    size_t length; /* bytes */
} penstock_string;

/* One detail of a log line. Both NUL-terminated UTF-8. This struct never grows. */
typedef struct penstock_field {
    const char *name;
    const char *value;
} penstock_field;

/* One event. */
typedef struct penstock_event {
    /* Its number in the host's journal: with `part` the idempotency key, the same on every retry and
     * replay. */
    uint64_t position;
    /* When the host received it: nanoseconds since 1970-01-01 UTC. */
    int64_t received_at_ns;
    /* The contents of its message id as they stand in the payload, JSON escapes not decoded;
     * length 0 if the payload has none. */
    penstock_string message_id;
    /* A JSON object, after filters and transforms, or whatever value the destination's mapping makes
     * of it; valid JSON, no line feed in it. */
    penstock_string payload;
    /* PENSTOCK_TRACK ... PENSTOCK_ALIAS. */
    int32_t kind;
    /* How often it was offered before; 0 the first time. */
    uint32_t attempt;
    /* Of several events that transforms made of the one at `position`: which one, from 0. */
    uint32_t part;
    uint32_t reserved;
} penstock_event;

/* Some events, in journal order. It and everything that it points to stay valid and unchanged
 * until host->complete has returned for its token, if deliver answered PENSTOCK_OK; else until
 * deliver returns. */
typedef struct penstock_batch {
    uint32_t struct_size;
    /* How many events; at least 1. */
    uint32_t count;
    /* Names the batch in host->complete. Never 0, never used again by this instance. */
    uint64_t token;
    /* CLOCK_MONOTONIC, nanoseconds. After it the host offers the events again, and ignores what
     * is said about this token. */
    int64_t deadline_ns;
    /* The positions of the first and the last event. */
    uint64_t first_position;
    uint64_t last_position;
    /* Use penstock_batch_event. */
    const penstock_event *events;
    /* Bytes from one event to the next. */
    uint32_t event_stride;
    uint32_t reserved;
} penstock_batch;

/* The event number i of a batch, i < batch->count. */
static inline const penstock_event *penstock_batch_event(const penstock_batch *batch, uint32_t i) {
    return (const penstock_event *)(const void *)((const char *)batch->events + (size_t)batch->event_stride * i);
}

/* What became of one event. All zero: unsettled. */
typedef struct penstock_outcome {
    /* PENSTOCK_UNSETTLED ... PENSTOCK_REJECTED. */
    int32_t status;
    /* With PENSTOCK_RETRY: milliseconds; 0 leaves it to the host. */
    uint32_t retry_after_ms;
    /* For the operator, who sees it beside the event: NUL-terminated UTF-8, or NULL. */
    const char *reason;
} penstock_outcome;

/* What the host does for one instance. It outlives the instance. */
typedef struct penstock_host penstock_host;
struct penstock_host {
    uint32_t struct_size;
    uint32_t reserved;
    /* The host's own. */
    void *context;
    /* The destination's name in the configuration. */
    const char *destination;
    /* The id of the journal that positions count in: with another journal, the same position is
     * another event. Empty if the host does not say. */
    const char *journal;

    /* [any] Settles a batch that deliver took or is about to take, exactly once. outcomes holds
     * count entries in the batch's order, stride bytes apart (sizeof(penstock_outcome)); events
     * beyond count are unsettled. A token that is unknown, or that was settled before, is
     * ignored, counted and logged. */
    void (*complete)(const penstock_host *host, uint64_t token, const penstock_outcome *outcomes, uint32_t count,
                     uint32_t stride);
    /* [any] After PENSTOCK_BUSY: there is room again. */
    void (*ready)(const penstock_host *host);
    /* [any] Whether a line of that level would be written: 1 or 0. */
    int32_t (*log_enabled)(const penstock_host *host, int32_t level);
    /* [any] Writes a line to the host's log. Lines may be left out when there are many. */
    void (*log)(const penstock_host *host, int32_t level, const char *message, const penstock_field *fields,
                uint32_t field_count);
    /* [any] Adds to a counter of this destination. Names are lower case letters, digits and
     * underscores, at most 64 bytes; an instance has at most 64 counters and 64 gauges. */
    void (*counter_add)(const penstock_host *host, const char *name, uint64_t amount);
    /* [any] Sets a gauge of this destination. */
    void (*gauge_set)(const penstock_host *host, const char *name, double value);
    /* [any] An extension of the host's by its id, or NULL. */
    const void *(*extension)(const penstock_host *host, const char *id);
};

/* What create fills in. The host hands it over zeroed, with struct_size set to the size that the
 * host knows; a plugin writes nothing beyond that. Required: deliver, stop, destroy. */
typedef struct penstock_instance {
    uint32_t struct_size;
    /* Batches that may be taken and not yet completed; 0: as many as the host likes. With 1,
     * batches come in journal order, and what is to be retried comes before what is later. */
    uint32_t max_in_flight;
    uint32_t max_batch_events; /* 0: no limit */
    uint32_t reserved;
    uint64_t max_batch_bytes; /* of payloads; 0: no limit */
    /* The plugin's own; the first argument of every function below. */
    void *context;

    /* [worker] Makes it ready: opens the file, the connection. Before the first deliver, again
     * if it failed, and again after a deliver that answered PENSTOCK_FAILED. OK or FAILED. */
    int32_t (*connect)(void *context, char *error, size_t error_size);
    /* [worker] Offers a batch. OK: taken; then, or already before returning, host->complete is
     * called for its token. BUSY or FAILED: not taken, complete is not called. */
    int32_t (*deliver)(void *context, const penstock_batch *batch, char *error, size_t error_size);
    /* [worker] Makes durable what was completed as delivered. OK or FAILED; after FAILED the host
     * records no progress. */
    int32_t (*flush)(void *context, char *error, size_t error_size);
    /* [worker] Ends all work: completes or forgets what was taken, joins its threads. Once. */
    void (*stop)(void *context);
    /* [worker] Frees the instance. Once, after stop. */
    void (*destroy)(void *context);
    /* [worker] An extension of the plugin's by its id, or NULL. Valid until destroy. */
    const void *(*extension)(void *context, const char *id);
} penstock_instance;

/* Who the plugin is. Immortal and constant. */
typedef struct penstock_plugin {
    uint32_t struct_size;
    /* The numbers of the header that it was compiled with. */
    uint16_t abi_major;
    uint16_t abi_minor;
    /* NUL-terminated UTF-8, a few words, required. */
    const char *name;
    const char *version;
    const char *summary;
    /* JSON Schema of the settings, which the host checks before create; NULL: anything goes.
     * Understood: type, properties, required, additionalProperties (true or false), items, enum,
     * minimum, maximum, minLength, maxLength, description, title; and "format": "path" for a
     * string of the top level that is a file's path: a relative one is made absolute. */
    const char *settings_schema;
    /* [worker] Makes an instance. settings is a JSON object, NUL-terminated, secrets filled in;
     * it is gone when create returns. No I/O that may take long: that is what connect is for.
     * OK or FAILED; after FAILED nothing of out is used. */
    int32_t (*create)(const penstock_host *host, const char *settings, penstock_instance *out, char *error,
                      size_t error_size);
} penstock_plugin;

/* The one symbol that a plugin exports. Pure: starts no thread, does no I/O, keeps nothing, so that
 * anybody may look at any plugin. NULL: not with a host of this version. */
PENSTOCK_EXPORT const penstock_plugin *penstock_plugin_entry(uint32_t host_major, uint32_t host_minor);
typedef const penstock_plugin *(*penstock_plugin_entry_function)(uint32_t host_major, uint32_t host_minor);

/* Extension of a plugin's: it keeps the position beside its data, in one transaction. After a
 * restart the host offers nothing again that lies at or below the position: exactly once.
 *
 * Such a plugin takes one batch at a time (max_in_flight 1). Then each event below a batch that is
 * offered is settled for good, those completed as rejected included: the host holds them durably
 * before it offers anything else. So the position may move to the batch's last event, together
 * with its rows; but not past an event of this batch that is completed as anything but delivered.
 * (What comes again behind such an event is recognised by its position.)
 * Events of a replay, or of a dead letter that is retried, lie at positions that live delivery has
 * passed: they are rows like others, and the position never moves back for them.
 * A position that went back, as with a database restored from a backup, is honoured: the host
 * offers again what came after it, as far as the journal still has it. */
#define PENSTOCK_POSITION "penstock.position/1"

typedef struct penstock_position {
    uint32_t struct_size;
    uint32_t reserved;
    /* [worker] After connect. OK: *position is the last position held durably. NONE: there is
     * none for this destination and journal. FAILED. */
    int32_t (*durable)(void *context, uint64_t *position, char *error, size_t error_size);
} penstock_position;

#ifdef __cplusplus
}
#endif

#endif
