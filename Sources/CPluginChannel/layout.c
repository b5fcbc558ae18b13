#include "plugin_channel.h"

_Static_assert(PLUGIN_CHANNEL_DESCRIPTION_LIMIT == 64 + 64 + 256 + 2 * ((1 << 20) + 4096) + 7, "");
_Static_assert(sizeof(plugin_header) == 16, "");
_Static_assert(sizeof(plugin_create) == 20, "");
_Static_assert(sizeof(plugin_map) == 16, "");
_Static_assert(sizeof(plugin_deliver) == 40, "");
_Static_assert(sizeof(plugin_reply) == 40, "");
_Static_assert(sizeof(plugin_complete) == 16, "");
_Static_assert(sizeof(plugin_outcome) == 12, "");
_Static_assert(sizeof(plugin_source_create) == 32, "");
_Static_assert(sizeof(plugin_lane) == 8, "");
_Static_assert(sizeof(plugin_offer) == 24, "");
_Static_assert(sizeof(plugin_stored) == 32, "");
_Static_assert(sizeof(plugin_refused) == 8, "");
