/* Prints each event as a line: the smallest sink plugin that keeps every rule of
 * penstock_plugin.h. Copy it to begin your own.
 *
 *   destinations:
 *     screen:
 *       plugin: console
 *       settings: { stream: stderr }
 *
 * Build one outside of this tree with
 *   cc -std=c11 -shared -fPIC -fvisibility=hidden -I<directory of penstock_plugin.h> \
 *      -o libmine.so mine.c
 */
#include "penstock_plugin.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Our own bound, told to the host in create: so the outcomes need no allocation. */
#define MAX_BATCH_EVENTS 512

/* All that an instance knows. Every [worker] function gets it as its context. Two destinations with
 * this plugin are two instances, so nothing is kept in static variables. */
typedef struct console {
    const penstock_host *host;
    FILE *stream;
    penstock_outcome outcomes[MAX_BATCH_EVENTS];
} console;

static const char *kind_name(int32_t kind) {
    static const char *const names[] = {"?", "track", "identify", "page", "screen", "group", "alias"};
    return kind >= PENSTOCK_TRACK && kind <= PENSTOCK_ALIAS ? names[kind] : names[0];
}

/* A payload is not NUL-terminated: always use its length. It has no line feed in it. */
static int print_event(FILE *stream, const penstock_event *event) {
    return fprintf(stream, "%llu %s ", (unsigned long long)event->position, kind_name(event->kind)) > 0 &&
           fwrite(event->payload.data, 1, event->payload.length, stream) == event->payload.length &&
           putc('\n', stream) != EOF;
}

/* [worker] Takes a batch, and settles it before it returns. A plugin with a thread of its own would
 * queue it here, answer OK, and call complete later; the batch's memory stays valid until then. */
static int32_t console_deliver(void *context, const penstock_batch *batch, char *error, size_t error_size) {
    console *it = context;
    if (batch->count > MAX_BATCH_EVENTS) {
        /* Not taken: the host keeps the events, and shows the error. */
        snprintf(error, error_size, "%u events at once, but only %d were asked for", batch->count, MAX_BATCH_EVENTS);
        return PENSTOCK_FAILED;
    }
    /* An outcome of all zeros means unsettled: whatever we forget comes again. */
    memset(it->outcomes, 0, sizeof it->outcomes);
    for (uint32_t i = 0; i < batch->count; i++) {
        if (!print_event(it->stream, penstock_batch_event(batch, i))) break;
        it->outcomes[i].status = PENSTOCK_DELIVERED;
    }
    if (fflush(it->stream) != 0 || ferror(it->stream)) {
        /* What was buffered may or may not be out, so all of it comes again: at least once. */
        clearerr(it->stream);
        for (uint32_t i = 0; i < batch->count; i++) {
            it->outcomes[i] = (penstock_outcome){.status = PENSTOCK_RETRY, .reason = "the stream cannot be written"};
        }
    } else {
        it->host->counter_add(it->host, "console_lines", batch->count);
    }
    it->host->complete(it->host, batch->token, it->outcomes, batch->count, sizeof it->outcomes[0]);
    return PENSTOCK_OK;
}

/* [worker] Nothing runs behind our back, so there is nothing to end. */
static void console_stop(void *context) { (void)context; }

/* [worker] After stop; frees what create made. */
static void console_destroy(void *context) { free(context); }

/* [worker] Makes an instance. connect, flush and extension stay NULL: nothing to connect to, every
 * batch is flushed, no extension. */
static int32_t console_create(const penstock_host *host, const char *settings, penstock_instance *out, char *error,
                              size_t error_size) {
    console *it = calloc(1, sizeof *it);
    if (it == NULL) {
        snprintf(error, error_size, "out of memory");
        return PENSTOCK_FAILED;
    }
    it->host = host;
    /* The schema below leaves {} and {"stream": one of two}, so this is all the parsing there is. A
     * plugin with more settings brings a JSON parser. */
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
                       "\"stream\": {\"description\": \"where to print; stdout if unset\","
                       " \"type\": \"string\", \"enum\": [\"stdout\", \"stderr\"]}}}",
    .create = console_create,
};

/* The one symbol that is exported. A host of a later minor version is fine: it knows our structs. */
const penstock_plugin *penstock_plugin_entry(uint32_t host_major, uint32_t host_minor) {
    (void)host_minor;
    return host_major == PENSTOCK_PLUGIN_MAJOR ? &plugin : NULL;
}
