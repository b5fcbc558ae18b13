/* Where a field lies in an event, as simdjson's own walk tells it: for tests to hold the fetch of
 * paths against. Slow, and no judge of validity. */
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

/* The value at a path in valid JSON: its segments one after the other in `text`, `lengths` long. Of
 * duplicate keys the last one counts. Returns 0, or 1 if simdjson gave up. */
int oracle_find(const uint8_t *json, size_t length, const uint8_t *text, const uint32_t *lengths, size_t segments,
                oracle_value *value);

#ifdef __cplusplus
}
#endif
#endif
