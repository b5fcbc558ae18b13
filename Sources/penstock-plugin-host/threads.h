/* The threads that a plugin's runtime started when the library was loaded. */
#ifndef PENSTOCK_THREADS_H
#define PENSTOCK_THREADS_H

/* Puts every other thread of this process under the Landlock rules. The main thread is under them already, and so is
 * each thread that it starts. Ends the process if a thread cannot be limited. */
void limit_other_threads(int rules);

#endif
