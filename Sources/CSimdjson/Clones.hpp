// Functions compiled for two vector units, between which the loader chooses, where it can. Elsewhere only the one that
// all processors have is used.
#ifndef PENSTOCK_CLONES_HPP
#define PENSTOCK_CLONES_HPP

// Any header of the C library defines __GLIBC__.
#include <cstdlib>

// On x86 this needs GNU's indirect functions.
#if defined(__x86_64__) && defined(__GLIBC__)
#define PENSTOCK_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define PENSTOCK_CLONES
#endif

#endif
