/* The host that the plugin calls, implemented with messages to the daemon. */
#ifndef PENSTOCK_SERVICES_H
#define PENSTOCK_SERVICES_H

#include "penstock_plugin.h"

/* The host's table for this process's one instance. The texts must stay valid. */
const penstock_host *make_host(const char *destination, const char *journal, int log_level);

/* The same for a source: it gets no batches, so `complete` and `ready` do nothing. */
const penstock_host *make_host_of_source(const char *name, const char *journal, int log_level);

/* Notes a batch that is about to be offered, so that the plugin's outcomes for it are bounded by its count. */
void expect_outcomes(uint64_t token, uint32_t count);

/* Forgets a batch that the plugin did not take. */
void expect_no_outcomes(uint64_t token);

#endif
