/* Counts what a program takes from the heap. A program that links this gets malloc(3) and its kin
 * from here, for the shared libraries that it loads as well; the memory is still the C library's. */
#ifndef CALLOCATIONS_H
#define CALLOCATIONS_H

#include <stdint.h>

/* How often the calling thread has asked for memory, from its start. */
uint64_t callocations_of_this_thread(void);

#endif
