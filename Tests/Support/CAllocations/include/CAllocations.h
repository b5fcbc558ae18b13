/* Counts a program's heap allocations. A program that links this library uses its malloc(3) and related functions,
 * also in shared libraries that it loads. The memory still comes from the C library. */
#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stdint.h>

/* The number of allocations of the calling thread since its start. */
uint64_t callocations_of_this_thread(void);

#endif
