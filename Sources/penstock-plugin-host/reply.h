/* Replies to the daemon's requests. The main thread. */
#ifndef PENSTOCK_REPLY_H
#define PENSTOCK_REPLY_H

#include "plugin_channel.h"

#include <stddef.h>
#include <stdint.h>

/* The plugin writes its error here. Cleared before each request. */
extern char error[PLUGIN_CHANNEL_ERROR_LIMIT];

void reply(int32_t status, const uint64_t values[4], const char *text, size_t length);

/* With the plugin's error. */
void reply_status(int32_t status);

/* With an error of this program. */
void reply_error(int32_t status, const char *text);

#endif
