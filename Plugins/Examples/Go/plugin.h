/* What plugin.c and the Go files share. */
#ifndef LINES_PLUGIN_H
#define LINES_PLUGIN_H

#include "penstock_plugin.h"

/* The state of one instance: its context. C owns it, because C code may not keep a pointer to Go's memory. */
typedef struct instance {
    const penstock_host *host;
    /* The cgo.Handle of the sink. */
    uintptr_t sink;
} instance;

/* Go cannot call a C function pointer. */
static inline void complete(const penstock_host *host, uint64_t token, const penstock_outcome *outcomes,
                            uint32_t count) {
    host->complete(host, token, outcomes, count, sizeof *outcomes);
}

static inline void count_lines(const penstock_host *host, uint64_t amount) {
    host->counter_add(host, "lines", amount);
}

#endif
