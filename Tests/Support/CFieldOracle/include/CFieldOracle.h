/* Finds a field in an event with simdjson's own walk. Tests compare the fetch of paths with it.
 * Slow, and does not check validity. */
#ifndef CFIELDORACLE_H
#define CFIELDORACLE_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* As psj_value of CSimdjson.h. */
typedef struct {
    uint32_t offset;
    uint32_t length;
    uint8_t type;
} oracle_value;

/* Finds the value at a path in valid JSON. `text` holds the path's segments, one after the other, and `lengths` their
 * lengths. Of duplicate keys, the last one counts. Returns 0, or 1 if simdjson reports an error. */
int oracle_find(const uint8_t *json, size_t length, const uint8_t *text, const uint32_t *lengths, size_t segments,
                oracle_value *value);

#ifdef __cplusplus
}
#endif
#endif
