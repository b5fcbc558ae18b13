// Functions compiled for two vector units, between which the loader chooses, where it can. Elsewhere, all processors
// that the program is compiled for have the same unit.
#ifndef PENSTOCK_CLONES_HPP
#define PENSTOCK_CLONES_HPP

// On x86 this needs GNU's indirect functions.
#if defined(__x86_64__) && defined(__GLIBC__)
#define PENSTOCK_CLONES __attribute__((target_clones("arch=x86-64-v3", "default")))
#else
#define PENSTOCK_CLONES
#endif

#endif
