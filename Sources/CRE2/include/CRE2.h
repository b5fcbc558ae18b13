/* A thin C interface to RE2 (Debian's libre2): regular expressions whose search time is linear in the length of the
 * text, for any expression, in bounded memory. No function throws. */
#ifndef CRE2_H
#define CRE2_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef struct cre2_pattern cre2_pattern;

/* Compiles a pattern of UTF-8 text. The result is immutable; any thread may use it. Returns NULL if the pattern is
 * not valid or takes more than max_memory bytes. error[0..<error_size] then holds the reason, NUL-terminated. */
cre2_pattern *cre2_create(const char *pattern, size_t length, size_t max_memory, char *error, size_t error_size);
void cre2_destroy(cre2_pattern *pattern);

/* Finds the leftmost match in text[start..<length]; if several start there, the one that the expression prefers.
 * Returns 1 if there is a match: *from and *to are its bounds, from the beginning of the text. Returns 0 if there is
 * no match. */
int cre2_find(const cre2_pattern *pattern, const char *text, size_t length, size_t start, size_t *from, size_t *to);

/* Returns 1 if there is a match anywhere in text[0..<length], else 0. Faster than cre2_find, which also determines
 * the bounds. */
int cre2_matches(const cre2_pattern *pattern, const char *text, size_t length);

#ifdef __cplusplus
}
#endif
#endif
