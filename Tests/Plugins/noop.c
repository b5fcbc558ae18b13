/* A sink plugin that takes every event and does nothing, for `make bench-plugins`. */
#include "penstock_plugin.h"

#include <stdlib.h>

#define MAX_EVENTS 512

typedef struct noop {
    const penstock_host *host;
    penstock_outcome outcomes[MAX_EVENTS];
} noop;

static int32_t noop_deliver(void *context, const penstock_batch *batch, char *error, size_t error_size) {
    noop *it = context;
    (void)error, (void)error_size;
    for (uint32_t i = 0; i < batch->count; i++) it->outcomes[i].status = PENSTOCK_DELIVERED;
    it->host->complete(it->host, batch->token, it->outcomes, batch->count, sizeof it->outcomes[0]);
    return PENSTOCK_OK;
}

static void noop_stop(void *context) { (void)context; }

static int32_t noop_create(const penstock_host *host, const char *settings, penstock_instance *out, char *error,
                           size_t error_size) {
    (void)settings, (void)error, (void)error_size;
    noop *it = calloc(1, sizeof *it);
    if (it == NULL) return PENSTOCK_FAILED;
    it->host = host;
    out->context = it;
    out->max_in_flight = 4;
    out->max_batch_events = MAX_EVENTS;
    out->deliver = noop_deliver;
    out->stop = noop_stop;
    out->destroy = free;
    return PENSTOCK_OK;
}

static const penstock_plugin plugin = {
    .struct_size = sizeof(penstock_plugin), .abi_major = PENSTOCK_PLUGIN_MAJOR, .abi_minor = PENSTOCK_PLUGIN_MINOR,
    .name = "noop", .version = "1.0", .summary = "Takes every event and does nothing", .create = noop_create, .needs = "",
};

const penstock_plugin *penstock_plugin_entry(uint32_t host_major, uint32_t host_minor) {
    (void)host_minor;
    return host_major == PENSTOCK_PLUGIN_MAJOR ? &plugin : NULL;
}
