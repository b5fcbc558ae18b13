/* The text of penstock_plugin.h, for the projects that `penstock plugins new` writes. It is compiled in, so this
 * repository has one copy of the header, and the program needs no data files.
 *
 * In a target of its own: otherwise every plugin that links CPenstockPlugin would contain the text. */
#include "CPluginHeader.h"

/* `#embed` is C23, which SwiftPM cannot select. Every clang that builds this package has it. */
#pragma clang diagnostic ignored "-Wc23-extensions"

static const unsigned char text[] = {
#embed "../CPenstockPlugin/include/penstock_plugin.h"
};

const unsigned char *plugin_header_text(void) { return text; }

size_t plugin_header_size(void) { return sizeof text; }
