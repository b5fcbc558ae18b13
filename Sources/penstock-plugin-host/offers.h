/* The source host that the plugin calls, implemented with messages to the daemon. */
#ifndef PENSTOCK_OFFERS_H
#define PENSTOCK_OFFERS_H

#include "penstock_plugin.h"

#include <stdbool.h>
#include <stdint.h>

/* The source host's table for this process's one instance. `window`: bytes (plugin_channel.h). */
const penstock_source_host *make_source_host(uint64_t window);

/* From now on the plugin may offer, or may no longer. */
void permit_offers(bool permitted);

/* Gives back what a stored offer cost. Returns whether the plugin is to be told that there is room: an offer was
 * declined, and at least half of the window is free. */
bool offer_is_stored(uint64_t cost);

#endif
