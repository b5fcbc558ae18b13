/* A thin C interface over RE2 (Debian's libre2): regular expressions whose search takes a time
 * linear in the text, whatever the expression, within a bounded memory. Nothing here throws. */
#ifndef CRE2_H
#define CRE2_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cre2_pattern cre2_pattern;

/* Compiles a pattern of UTF-8 text; immutable once made, shareable between threads. NULL if it is
 * not one, or takes more than max_memory bytes; then a sentence on why, NUL-terminated, is in
 * error[0..<error_size]. */
cre2_pattern *cre2_create(const char *pattern, size_t length, size_t max_memory, char *error, size_t error_size);
void cre2_destroy(cre2_pattern *pattern);

/* The leftmost, longest-by-preference match in text[start..<length]. 1: found, its bounds (from the
 * text's beginning) in *from and *to; 0: there is none. */
int cre2_find(const cre2_pattern *pattern, const char *text, size_t length, size_t start, size_t *from, size_t *to);

/* 1: there is a match anywhere in text[0..<length]; 0: there is none. Quicker than cre2_find, which looks
 * for its bounds, too. */
int cre2_matches(const cre2_pattern *pattern, const char *text, size_t length);

#ifdef __cplusplus
}
#endif
#endif
