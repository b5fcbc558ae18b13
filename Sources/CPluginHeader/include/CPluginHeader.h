/* The text of penstock_plugin.h. */
#ifndef CPLUGINHEADER_H
#define CPLUGINHEADER_H

#include <stddef.h>

/* Not NUL-terminated. Valid while the process lives. */
const unsigned char *plugin_header_text(void);
/* Bytes. */
size_t plugin_header_size(void);

#endif
