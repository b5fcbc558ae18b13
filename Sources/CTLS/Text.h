/* Reasons of failures as text. */
#ifndef CTLS_TEXT_H
#define CTLS_TEXT_H

#include "CTLS.h"

/* Copies the text, cut if it is too long. Bytes that are not printable ASCII become '?'. */
void ctls_write_text(ctls_text *to, const char *text);

/* Empties OpenSSL's queue of errors and writes the reason of the first error, or `otherwise` if it is empty. */
void ctls_take_reason(ctls_text *to, const char *otherwise);

/* As above, in words for a connection with a client. `verification` is the result of SSL_get_verify_result(3). */
void ctls_take_failure(ctls_text *to, long verification, const char *otherwise);

#endif
