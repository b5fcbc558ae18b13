/* Counts what a program allocates: its malloc stands in front of glibc's, for every library in the
 * process. Any thread. */
#ifndef ALLOCATION_COUNTER_H
#define ALLOCATION_COUNTER_H

#include <stdint.h>

/* Calls of malloc, calloc, realloc and their kin so far. */
uint64_t allocation_count(void);

#endif
