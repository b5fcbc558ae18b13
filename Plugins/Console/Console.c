/* Prints each event as a line. This is the smallest sink plugin that follows every rule of penstock_plugin.h. Copy
 * it to begin your own.
 *
 *   destinations:
 *     screen:
 *       plugin: console
 *       settings: { stream: stderr }
 *
 * To build a plugin outside of this tree:
 *   cc -std=c11 -shared -fPIC -fvisibility=hidden -I<directory of penstock_plugin.h> \
 *      -o libmine.so mine.c
 */
#include "penstock_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Our limit, which create reports to the host. With it, the outcomes need no allocation. */
#define MAX_BATCH_EVENTS 512

/* The state of one instance. Every [worker] function gets it as its context. Two destinations with this plugin are two
 * instances, so static variables hold no state. */
typedef struct console {
    const penstock_host *host;
    FILE *stream;
    penstock_outcome outcomes[MAX_BATCH_EVENTS];
} console;

static const char *kind_name(int32_t kind) {
    static const char *const names[] = {"?", "track", "identify", "page", "screen", "group", "alias"};
    return kind >= PENSTOCK_TRACK && kind <= PENSTOCK_ALIAS ? names[kind] : names[0];
}

/* A payload is not NUL-terminated: always use its length. It contains no line feed. */
static int print_event(FILE *stream, const penstock_event *event) {
    return fprintf(stream, "%llu %s ", (unsigned long long)event->position, kind_name(event->kind)) > 0 &&
           fwrite(event->payload.data, 1, event->payload.length, stream) == event->payload.length &&
           putc('\n', stream) != EOF;
}

/* [worker] Takes a batch, and settles it before it returns. A plugin with its own thread would queue the batch
 * here, return OK, and call complete later; the batch's memory stays valid until then. */
static int32_t console_deliver(void *context, const penstock_batch *batch, char *error, size_t error_size) {
    console *it = context;
    if (batch->count > MAX_BATCH_EVENTS) {
        /* Not taken: the host keeps the events, and shows the error. */
        snprintf(error, error_size, "the batch has %u events, but the limit is %d", batch->count, MAX_BATCH_EVENTS);
        return PENSTOCK_FAILED;
    }
    /* All zeros means unsettled: an event that we forget is offered again. */
    memset(it->outcomes, 0, sizeof it->outcomes);
    for (uint32_t i = 0; i < batch->count; i++) {
        if (!print_event(it->stream, penstock_batch_event(batch, i))) break;
        it->outcomes[i].status = PENSTOCK_DELIVERED;
    }
    if (fflush(it->stream) != 0 || ferror(it->stream)) {
        /* Buffered events may or may not be written, so all events are retried: at least once. */
        clearerr(it->stream);
        for (uint32_t i = 0; i < batch->count; i++) {
            it->outcomes[i] = (penstock_outcome){.status = PENSTOCK_RETRY, .reason = "cannot write to the stream"};
        }
    } else {
        it->host->counter_add(it->host, "console_lines", batch->count);
    }
    it->host->complete(it->host, batch->token, it->outcomes, batch->count, sizeof it->outcomes[0]);
    return PENSTOCK_OK;
}

/* [worker] This plugin has no threads to end. */
static void console_stop(void *context) { (void)context; }

/* [worker] Called after stop; frees the instance. */
static void console_destroy(void *context) { free(context); }

/* [worker] Creates an instance. connect, flush and extension stay NULL: there is nothing to connect to, deliver flushes
 * every batch, and the plugin has no extension. */
static int32_t console_create(const penstock_host *host, const char *settings, penstock_instance *out, char *error,
                              size_t error_size) {
    console *it = calloc(1, sizeof *it);
    if (it == NULL) {
        snprintf(error, error_size, "out of memory");
        return PENSTOCK_FAILED;
    }
    it->host = host;
    /* The schema below allows only {} and {"stream": one of two values}, so this suffices as a parser. A plugin with
     * more settings needs a JSON parser. */
    it->stream = strstr(settings, "\"stderr\"") != NULL ? stderr : stdout;

    out->max_in_flight = 1;
    out->max_batch_events = MAX_BATCH_EVENTS;
    out->context = it;
    out->deliver = console_deliver;
    out->stop = console_stop;
    out->destroy = console_destroy;
    if (host->log_enabled(host, PENSTOCK_LOG_DEBUG)) {
        const penstock_field field = {"stream", it->stream == stderr ? "stderr" : "stdout"};
        host->log(host, PENSTOCK_LOG_DEBUG, "printing events", &field, 1);
    }
    return PENSTOCK_OK;
}

static const penstock_plugin plugin = {
    .struct_size = sizeof(penstock_plugin),
    .abi_major = PENSTOCK_PLUGIN_MAJOR,
    .abi_minor = PENSTOCK_PLUGIN_MINOR,
    .name = "console",
    .version = "1.0",
    .summary = "Prints each event as a line on stdout or stderr",
    .settings_schema = "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
                       "\"stream\": {\"description\": \"the stream to print to; default: stdout\","
                       " \"type\": \"string\", \"enum\": [\"stdout\", \"stderr\"]}}}",
    .create = console_create,
    /* It opens no file and no socket. */
    .needs = "",
};

/* The only exported symbol. A host with a later minor version is compatible: it knows our structs. */
const penstock_plugin *penstock_plugin_entry(uint32_t host_major, uint32_t host_minor) {
    (void)host_minor;
    return host_major == PENSTOCK_PLUGIN_MAJOR ? &plugin : NULL;
}
