/* penstock_plugin.h: the interface between Penstock and a plugin.
 *
 * A plugin is a shared library. As a sink it takes batches of events and stores or sends them; as a source it brings
 * events in (at the end of this file). It exports one function, penstock_plugin_entry, and needs only this header: C11,
 * C++, or any language with a C interface. Plugins/Console is an example of a sink to copy.
 *
 *   host                                     plugin
 *   penstock_plugin_entry(major, minor) ---> its name, version and settings schema
 *   create(host, settings) ----------------> an instance: limits, functions
 *   connect ------------------------------->
 *   deliver(batch) ------------------------> OK: taken
 *              <----------------------------- host->complete(token, outcomes), any thread
 *   flush, deliver, ... ------------------->
 *   stop, destroy ------------------------->
 *
 * Threads. Each function has a tag:
 *   [worker]  The host calls it, one call at a time per instance, on a thread that may block. Each call may come on
 *             another thread.
 *   [any]     The plugin may call it from any thread, concurrently, and from inside a [worker] function. It never calls
 *             back into the plugin.
 * Once stop has returned, no thread of the plugin may run for that instance, and the plugin may not call the host
 * for it.
 *
 * Memory. Neither side frees memory that the other side allocated. The host copies what a plugin passes to it before
 * the call returns. An error is written into the caller's buffer: at most error_size bytes, including the
 * terminating NUL.
 *
 * Process. A plugin never changes its process's signal dispositions, working directory, locale or environment, and
 * never forks. The host never unloads a plugin's library while the process lives.
 *
 * Versions. The major number must match. Within a major version, a struct that begins with struct_size only grows at
 * its end: compare struct_size before you read a field that is newer than the minor version you need. Arrays come
 * with a stride: use it instead of sizeof. Optional features are extensions, found by their id. A plugin that is
 * compiled with this header works with every later host of major version 1.
 *
 * The layout is for 64-bit machines; layout.c asserts every offset.
 */
#ifndef PENSTOCK_PLUGIN_H
#define PENSTOCK_PLUGIN_H

#include <stddef.h>
#include <stdint.h>

#define PENSTOCK_PLUGIN_MAJOR 1
#define PENSTOCK_PLUGIN_MINOR 2

#if defined(__GNUC__)
#define PENSTOCK_EXPORT __attribute__((visibility("default")))
#else
#define PENSTOCK_EXPORT
#endif

#ifdef __cplusplus
extern "C" {
#endif

/* Return values of the plugin's functions. Any other value counts as PENSTOCK_FAILED. */
#define PENSTOCK_OK 0
/* deliver only: the plugin is busy and has not taken the batch. The host offers it again after host->ready, or after a
 * while. */
#define PENSTOCK_BUSY 1
/* The call failed, and the error buffer says why. */
#define PENSTOCK_FAILED 2
/* penstock_position only: no position is stored yet. */
#define PENSTOCK_NONE 3

/* The status of an event. Any other value counts as PENSTOCK_UNSETTLED. */
#define PENSTOCK_UNSETTLED 0 /* not reported: the event is offered again */
#define PENSTOCK_DELIVERED 1 /* stored or sent, as durably as the sink can */
#define PENSTOCK_RETRY 2     /* offer it again, after retry_after_ms or later */
#define PENSTOCK_REJECTED 3  /* never: the host keeps the event and the reason as a dead letter */

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

/* UTF-8, not NUL-terminated. data may be NULL if length is 0. This struct never grows. */
typedef struct penstock_string {
    const char *data;
    size_t length; /* bytes */
} penstock_string;

/* One field of a log line. Both strings are NUL-terminated UTF-8. This struct never grows. */
typedef struct penstock_field {
    const char *name;
    const char *value;
} penstock_field;

/* One event. */
typedef struct penstock_event {
    /* Its position in the host's journal. With `part` it is the idempotency key, the same on every retry and replay. */
    uint64_t position;
    /* When the event was received: nanoseconds since 1970-01-01 UTC. If another host received it first, and told when,
     * that time. */
    int64_t received_at_ns;
    /* Its message id as written in the payload, with JSON escapes; length 0 if the payload has none. */
    penstock_string message_id;
    /* The JSON object after filters and transforms, or the value that the destination's mapping makes of it. Valid JSON
     * without line feeds. */
    penstock_string payload;
    /* PENSTOCK_TRACK ... PENSTOCK_ALIAS. */
    int32_t kind;
    /* How often it was offered before; 0: this is the first time. */
    uint32_t attempt;
    /* The index, from 0, among the events that transforms made of the one at `position`. */
    uint32_t part;
    uint32_t reserved;

    /* Since version 1.2. The user's id as written in the payload, with JSON escapes; the anonymous id if there is no
     * user's; length 0 if there is neither, or if the host has not looked: what transforms or a mapping have written
     * must be read by the plugin. */
    penstock_string user;
} penstock_event;

/* Flags of a batch. Ignore unknown ones. */
#define PENSTOCK_BACKFILL 1u /* a replay, or retried dead letters: live delivery has passed these positions */

/* A batch of events in journal order. If deliver returns PENSTOCK_OK, the batch and everything that it points to stay
 * valid and unchanged until host->complete has returned for its token; otherwise until deliver returns. */
typedef struct penstock_batch {
    uint32_t struct_size;
    /* The number of events; at least 1. */
    uint32_t count;
    /* Identifies the batch in host->complete. Never 0, and never reused for this instance. */
    uint64_t token;
    /* CLOCK_MONOTONIC, nanoseconds. After the deadline the host offers the events again, and ignores outcomes for this
     * token. */
    int64_t deadline_ns;
    /* The positions of the first and the last event. */
    uint64_t first_position;
    uint64_t last_position;
    /* Use penstock_batch_event to read them. */
    const penstock_event *events;
    /* The distance from one event to the next, in bytes. */
    uint32_t event_stride;
    /* Since version 1.1: PENSTOCK_BACKFILL. */
    uint32_t flags;
} penstock_batch;

/* Event number i of a batch; i < batch->count. */
static inline const penstock_event *penstock_batch_event(const penstock_batch *batch, uint32_t i) {
    return (const penstock_event *)(const void *)((const char *)batch->events + (size_t)batch->event_stride * i);
}

/* The outcome of one event. All zeros: unsettled. */
typedef struct penstock_outcome {
    /* PENSTOCK_UNSETTLED ... PENSTOCK_REJECTED. */
    int32_t status;
    /* With PENSTOCK_RETRY: milliseconds; 0: the host chooses. */
    uint32_t retry_after_ms;
    /* The reason, shown to the operator with the event: NUL-terminated UTF-8, or NULL. */
    const char *reason;
} penstock_outcome;

/* The host's services for one instance. The host outlives the instance. */
typedef struct penstock_host penstock_host;
struct penstock_host {
    uint32_t struct_size;
    uint32_t reserved;
    /* For the host's use. */
    void *context;
    /* The destination's name in the configuration. */
    const char *destination;
    /* The id of the journal that positions refer to: in another journal, the same position is another event. Empty
     * if the host doesn't name it. */
    const char *journal;

    /* [any] Settles a batch that deliver took or is about to take; call it exactly once per batch. outcomes holds count
     * entries in the batch's order, stride bytes apart (sizeof(penstock_outcome)). Events beyond count are unsettled. A
     * token that is unknown or already settled is ignored, counted and logged. */
    void (*complete)(const penstock_host *host, uint64_t token, const penstock_outcome *outcomes, uint32_t count,
                     uint32_t stride);
    /* [any] After PENSTOCK_BUSY: the plugin can take a batch again. */
    void (*ready)(const penstock_host *host);
    /* [any] Whether a line of this level would be logged: 1 or 0. */
    int32_t (*log_enabled)(const penstock_host *host, int32_t level);
    /* [any] Writes a line to the host's log. The host may drop lines when there are many. */
    void (*log)(const penstock_host *host, int32_t level, const char *message, const penstock_field *fields,
                uint32_t field_count);
    /* [any] Adds to a counter of this destination. A name has lower-case letters, digits and underscores, at most 64
     * bytes. An instance has at most 64 counters and 64 gauges. */
    void (*counter_add)(const penstock_host *host, const char *name, uint64_t amount);
    /* [any] Sets a gauge of this destination. */
    void (*gauge_set)(const penstock_host *host, const char *name, double value);
    /* [any] Returns the host's extension with this id, or NULL. */
    const void *(*extension)(const penstock_host *host, const char *id);
};

/* The instance, which create fills in. The host passes it zeroed, with struct_size set to the size that the host
 * knows. A plugin must not write beyond that size. Required: deliver, stop, destroy. */
typedef struct penstock_instance {
    uint32_t struct_size;
    /* The most batches that are taken and not yet completed; 0: the host chooses. With 1, batches come in journal
     * order, and retried events come before later ones. The destination's `in_flight`, 1 by default, is another
     * limit. */
    uint32_t max_in_flight;
    uint32_t max_batch_events; /* 0: no limit */
    uint32_t reserved;
    uint64_t max_batch_bytes; /* sum of the payloads; 0: no limit */
    /* For the plugin's use: the first argument of every function below. */
    void *context;

    /* [worker] Opens the file or the connection. Called before the first deliver, again if it failed, and again after a
     * deliver that returned PENSTOCK_FAILED. OK or FAILED. */
    int32_t (*connect)(void *context, char *error, size_t error_size);
    /* [worker] Offers a batch. OK: taken; the plugin calls host->complete for its token, before or after it returns.
     * BUSY or FAILED: not taken; the plugin must not call complete. */
    int32_t (*deliver)(void *context, const penstock_batch *batch, char *error, size_t error_size);
    /* [worker] Makes all events durable that were completed as delivered. OK or FAILED; after FAILED the host
     * records no progress. */
    int32_t (*flush)(void *context, char *error, size_t error_size);
    /* [worker] Ends all work: completes or drops the batches it has taken, and joins its threads. Called once. */
    void (*stop)(void *context);
    /* [worker] Frees the instance. Called once, after stop. */
    void (*destroy)(void *context);
    /* [worker] Returns the plugin's extension with this id, or NULL. Valid until destroy. */
    const void *(*extension)(void *context, const char *id);
} penstock_instance;

/* The plugin's description. Never freed, never changed. */
typedef struct penstock_plugin {
    uint32_t struct_size;
    /* The version of the header that it was compiled with. */
    uint16_t abi_major;
    uint16_t abi_minor;
    /* NUL-terminated UTF-8, a few words each; required. */
    const char *name;
    const char *version;
    const char *summary;
    /* The JSON Schema of the settings, which the host validates before create; NULL: any settings are valid. Supported
     * keywords: type, properties, required, additionalProperties (true or false), items, enum, minimum, maximum,
     * minLength, maxLength, description, title; and "format": "path" for a top-level string that is a file's path: the
     * host makes a relative path absolute, creates the file's directory, and permits the plugin to use it. At most
     * 64 KiB and 32 levels. */
    const char *settings_schema;
    /* NULL for a plugin that is a source alone; otherwise required.
     * [worker] Creates an instance. settings is a JSON object, NUL-terminated, with secrets filled in; it is valid only
     * until create returns. create does no slow I/O: connect does. OK or FAILED; after FAILED the host ignores out. */
    int32_t (*create)(const penstock_host *host, const char *settings, penstock_instance *out, char *error,
                      size_t error_size);
    /* What the plugin uses beyond its own memory, in words with a space between them; in a process of its own, all else
     * is refused from before create on. NULL: whatever the daemon may use. Besides what it names, a plugin may read the
     * system's files (/usr, /etc, /proc ...), and may write to the directories of its settings with "format": "path".
     *   network     sockets of any kind
     *   unix        sockets of this machine (AF_UNIX) alone
     *   files:PATH  what is at or below this absolute path, to read and to write
     * An unknown word permits nothing. */
    const char *needs;

    /* Since version 1.1. Returns the plugin's extension with this id, or NULL. As pure as the entry function. What it
     * returns is never freed and never changed. NULL: the plugin has no extensions. */
    const void *(*extension)(const char *id);
} penstock_plugin;

/* The only symbol that a plugin exports. Pure: it starts no thread, does no I/O and keeps no state, so any plugin
 * can be inspected safely. NULL: the plugin doesn't support this host's version. */
PENSTOCK_EXPORT const penstock_plugin *penstock_plugin_entry(uint32_t host_major, uint32_t host_minor);
typedef const penstock_plugin *(*penstock_plugin_entry_function)(uint32_t host_major, uint32_t host_minor);

/* A plugin's extension: it stores the position beside its data, in one transaction. After a restart the host offers
 * no event again at or below the position: exactly once.
 *
 * Such a plugin takes one batch at a time (max_in_flight 1). When a batch is offered, each event below it is settled
 * permanently: events completed as rejected are durable in the host by then. So the plugin may move the position to the
 * batch's last event, together with its rows, but not past an event of this batch that it completes as anything but
 * delivered. (If events after such an event come again, the plugin recognises them by their position.)
 *
 * Events of a replay, or of retried dead letters, have positions that live delivery has passed. The plugin stores them
 * like other events, and never moves the position back for them.
 *
 * If the position has gone back, as in a database restored from a backup, the host offers the later events again, as
 * far as the journal still has them. If the journal has not reached the position, because the journal was restored from a
 * backup, the host offers nothing: new events get the positions that the plugin holds. */
#define PENSTOCK_POSITION "penstock.position/1"

typedef struct penstock_position {
    uint32_t struct_size;
    uint32_t reserved;
    /* [worker] Called after connect. OK: *position is the last position that is durable. NONE: none is stored for this
     * destination and journal. FAILED: it cannot be read. */
    int32_t (*durable)(void *context, uint64_t *position, char *error, size_t error_size);
} penstock_position;

/* Since version 1.1. A plugin's extension: it is a source, and brings events in.
 *
 *   host                                     plugin
 *   penstock_plugin.extension(id) ---------> penstock_source: settings schema, needs
 *   create(host, source, settings) --------> an instance: functions
 *   connect ------------------------------->
 *   start(lanes with their positions) ----->
 *              <----------------------------- source->offer(lane, events, position), any thread
 *   durable(token) ------------------------> may acknowledge to its broker
 *   stop, durable, ..., destroy ----------->
 *
 * A lane is what has a position of its own: a partition, a file, a stream. A position is up to 64 bytes that only the
 * plugin understands. The host stores the events of an offer and the position behind them in one commit of its journal,
 * or none of them. start gives each lane the position that the journal holds: a plugin that reads on from there neither
 * loses nor repeats an event, also after both processes were killed.
 *
 * Offers of a lane are stored in the order in which they were made, one thread at a time per lane. The host checks
 * events like those of an application. A refused event is counted and reported, and never stops its lane.
 */
#define PENSTOCK_SOURCE "penstock.source/1"

/* A lane with a position. This struct never grows. */
typedef struct penstock_lane {
    penstock_string name;     /* 1 to 64 bytes of UTF-8, without control characters */
    penstock_string position; /* at most 64 bytes; none: the lane is forgotten */
} penstock_lane;

/* Where an event was stored before: its position in the journal of another host, and its part there (as in
 * penstock_event). This struct never grows. */
typedef struct penstock_place {
    uint64_t position;
    uint32_t part;
    uint32_t reserved;
} penstock_place;

/* Events of one lane. */
typedef struct penstock_offer {
    uint32_t struct_size;
    /* The number of events; 0: the position moves on, for example past what the plugin leaves out. */
    uint32_t count;
    /* The plugin's own number for the offer; `durable` names it. */
    uint64_t token;
    /* The lane, and the position behind the last event. */
    penstock_lane lane;
    /* Each is one event: a JSON object, as an application sends it. Line feeds between its tokens become spaces. */
    const penstock_string *events;

    /* Where the events were stored before: a sequence, named by a UUID (8-4-4-4-12 hexadecimal digits), in which places
     * rise, and `count` places in it. With the lane's position, the host stores how far the lane has brought in each
     * origin. It leaves out events that are not above that, and counts them as duplicates: however often a broker or a
     * sender repeats them, they are stored once. Length 0: the events have no origin. */
    penstock_string origin;
    const penstock_place *places;

    /* Since version 1.2. The name of the host that received the events first, if it was another one: at most 255 bytes of
     * UTF-8 without control characters. The fields `context.penstock.host` have it. Length 0: not known. */
    penstock_string host;
    /* When that host received each of the `count` events: nanoseconds since 1970-01-01 UTC. They are the events'
     * `receivedAt`, and delivery latency counts from them. NULL: not known; the events count as received when this host
     * stores them. */
    const int64_t *received_at_ns;
} penstock_offer;

/* An event of an offer that the host refused. */
typedef struct penstock_refusal {
    uint32_t index; /* in the offer's events */
    uint32_t reserved;
    penstock_string reason;
} penstock_refusal;

/* An offer that is stored. */
typedef struct penstock_durable {
    uint32_t struct_size;
    uint32_t refusal_count;
    /* As in the offer. */
    uint64_t token;
    penstock_lane lane;
    /* The events that were refused, in the offer's order, refusal_stride bytes apart. */
    const penstock_refusal *refusals;
    uint32_t refusal_stride;
    uint32_t reserved;
} penstock_durable;

/* What the host does for a source, beside penstock_host. It outlives the instance. */
typedef struct penstock_source_host {
    uint32_t struct_size;
    /* The most events, and the most bytes of events, in an offer. An offer of one event may be larger. */
    uint32_t max_offer_events;
    uint64_t max_offer_bytes;

    /* [any] Offers events. The host copies them before it returns. OK: taken, and `durable` comes for it. BUSY: not
     * taken; offer it again when the host calls `ready`. FAILED: the offer is not valid, and never will be. */
    int32_t (*offer)(const penstock_host *host, const penstock_offer *offer, char *error, size_t error_size);
    /* [any] The plugin reads from this lane now, or no longer does. Shown to the operator; a lane that is offered is
     * open. */
    void (*lane_opened)(const penstock_host *host, penstock_string lane);
    void (*lane_closed)(const penstock_host *host, penstock_string lane);
    /* [any] Shows the operator what keeps the source from working, such as a broker that cannot be reached; NULL: it
     * works. The plugin goes on trying by itself. */
    void (*problem)(const penstock_host *host, const char *problem);
    /* [any] The instance cannot go on. The host destroys it, and starts another one after a while. */
    void (*fail)(const penstock_host *host, const char *reason);
    /* [any] For a lane that several hosts may read, one at a time: it belongs to this host until deadline_ns
     * (CLOCK_MONOTONIC). Call it when the right is taken, and whenever it is renewed. An offer that would be stored
     * later, for example because the host was stopped for a while, ends the plugin's process: another host may read the
     * lane by then. */
    void (*lane_until)(const penstock_host *host, penstock_string lane, int64_t deadline_ns);
} penstock_source_host;

/* The instance of a source, which create fills in. The host passes it zeroed, with struct_size set to the size that the
 * host knows. Required: start, durable, stop, destroy. */
typedef struct penstock_source_instance {
    uint32_t struct_size;
    uint32_t reserved;
    /* For the plugin's use: the first argument of every function below. */
    void *context;

    /* [worker] Opens the connection. Called before start, again after a while if it failed. OK or FAILED. */
    int32_t (*connect)(void *context, char *error, size_t error_size);
    /* [worker] Begins to offer, from each lane's position on. `lanes` has every lane that the journal knows of this
     * source, stride bytes apart, valid until start returns. A lane that is missing has no position yet. Called once.
     * OK or FAILED. */
    int32_t (*start)(void *context, const penstock_lane *lanes, uint32_t count, uint32_t stride, char *error,
                     size_t error_size);
    /* [worker] After BUSY: the host takes offers again. May be NULL. */
    void (*ready)(void *context);
    /* [worker] An offer is stored: each of its events is durable or refused. So are all earlier offers of its lane.
     * *durable is valid until the function returns, which must be soon. */
    void (*durable)(void *context, const penstock_durable *durable);
    /* [worker] Ends offering: after it has returned, no offer comes. `durable` is still called for the offers before, so
     * that the plugin can acknowledge them. Called once. */
    void (*stop)(void *context);
    /* [worker] Ends all threads of the instance and frees it. Called once, after stop. */
    void (*destroy)(void *context);
    /* [worker] Returns the instance's extension with this id, or NULL. */
    const void *(*extension)(void *context, const char *id);
} penstock_source_instance;

/* A source's description. Never freed, never changed. */
typedef struct penstock_source {
    uint32_t struct_size;
    uint32_t reserved;
    /* As in penstock_plugin, for a source's settings. */
    const char *settings_schema;
    const char *needs;
    /* [worker] Creates an instance, as in penstock_plugin. */
    int32_t (*create)(const penstock_host *host, const penstock_source_host *source, const char *settings,
                      penstock_source_instance *out, char *error, size_t error_size);
} penstock_source;

#ifdef __cplusplus
}
#endif

#endif
