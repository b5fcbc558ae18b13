/* What the host calls: the plugin's table, and functions that call Go. A Go function cannot have a `const` parameter,
 * and Go cannot make a constant table of C pointers, so this part is in C. */
#include "plugin.h"

#include "_cgo_export.h"

#include <stdio.h>
#include <stdlib.h>

/* [worker] Called before the first batch, and again after a deliver that failed. */
static int32_t lines_connect(void *context, char *error, size_t error_size) {
    return goConnect(((instance *)context)->sink, error, error_size);
}

/* [worker] Takes a batch, and settles it before it returns. */
static int32_t lines_deliver(void *context, const penstock_batch *batch, char *error, size_t error_size) {
    instance *it = context;
    return goDeliver(it->sink, (penstock_host *)it->host, (penstock_batch *)batch, error, error_size);
}

/* [worker] Makes delivered events durable. */
static int32_t lines_flush(void *context, char *error, size_t error_size) {
    return goFlush(((instance *)context)->sink, error, error_size);
}

/* [worker] This plugin starts no goroutines. A plugin that does waits for them here. */
static void lines_stop(void *context) { (void)context; }

/* [worker] Called after stop; frees the instance. */
static void lines_destroy(void *context) {
    goDestroy(((instance *)context)->sink);
    free(context);
}

/* [worker] Creates an instance. Does no slow I/O: connect does. */
static int32_t lines_create(const penstock_host *host, const char *settings, penstock_instance *out, char *error,
                            size_t error_size) {
    instance *it = calloc(1, sizeof *it);
    if (it == NULL) {
        snprintf(error, error_size, "out of memory");
        return PENSTOCK_FAILED;
    }
    it->host = host;
    it->sink = goCreate((char *)settings, error, error_size);
    if (it->sink == 0) {
        free(it);
        return PENSTOCK_FAILED;
    }
    out->max_in_flight = 1; /* batches come in order */
    out->max_batch_events = 1000;
    out->max_batch_bytes = 4 << 20;
    out->context = it;
    out->connect = lines_connect;
    out->deliver = lines_deliver;
    out->flush = lines_flush;
    out->stop = lines_stop;
    out->destroy = lines_destroy;
    return PENSTOCK_OK;
}

static const penstock_plugin plugin = {
    .struct_size = sizeof(penstock_plugin),
    .abi_major = PENSTOCK_PLUGIN_MAJOR,
    .abi_minor = PENSTOCK_PLUGIN_MINOR,
    .name = "lines-go",
    .version = "0.1.0",
    .summary = "Appends each event as a line to a file",
    .settings_schema = "{\"type\": \"object\", \"required\": [\"path\"], \"additionalProperties\": false,"
                       " \"properties\": {\"path\": {\"type\": \"string\", \"minLength\": 1, \"format\": \"path\","
                       " \"description\": \"the file to append to; it is created if it is missing\"}}}",
    .create = lines_create,
    /* The directory of `path` is permitted because of "format": "path"; the plugin uses nothing else. */
    .needs = "",
};

/* The symbol that the host looks for. A host with a later minor version is compatible: it knows our structs. */
PENSTOCK_EXPORT const penstock_plugin *penstock_plugin_entry(uint32_t host_major, uint32_t host_minor) {
    (void)host_minor;
    return host_major == PENSTOCK_PLUGIN_MAJOR ? &plugin : NULL;
}
