/* Texts that the plugin passes. */
#ifndef PENSTOCK_TEXT_H
#define PENSTOCK_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* Whether the bytes are UTF-8 (RFC 3629) without control characters (U+0000 to U+001F, U+007F to U+009F). */
bool is_plain_text(const char *text, size_t length);

#endif
