/* The requests for a source. Each function replies. The main thread. */
#ifndef PENSTOCK_SOURCE_H
#define PENSTOCK_SOURCE_H

#include "penstock_plugin.h"

#include <stdbool.h>
#include <stddef.h>

/* A copy of the source's table; all zeros: the plugin is no source. Returns whether it may be used. */
bool set_source(const penstock_source *found);

extern penstock_source source;

void create_source(const char *body, size_t size);

/* Whether there is an instance: connect, stop and destroy are for it. */
bool has_source_instance(void);

void connect_source(void);
void start_source(const char *body, size_t size);
void report_stored(const char *body, size_t size);
void stop_source(void);
void destroy_source(void);

#endif
