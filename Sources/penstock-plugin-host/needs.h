/* What a plugin may use, as far as it says so itself: `needs` in penstock_plugin.h. */
#ifndef PENSTOCK_NEEDS_H
#define PENSTOCK_NEEDS_H

#include <stddef.h>

/* Permanently forbids what `needs` does not name, beyond what `confine` forbids. NULL: nothing more. `paths`: the
 * settings that are paths, each ended by a NUL, `size` bytes in all. The directory of each is made if it is missing, and
 * may be written. The main thread. The limits apply to every thread. */
void confine_to(const char *needs, const char *paths, size_t size);

#endif
