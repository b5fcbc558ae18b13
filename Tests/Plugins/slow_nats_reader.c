/* Preloaded into a plugin's process: after libnats has found the subscription of a message, its reading thread waits
 * before it locks the subscription. Before 3.6 another thread can free the subscription in that moment
 * (nats.c issue 637). */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <unistd.h>

static _Thread_local int has_found;

/* A function of the library's, which finds a connection's subscription. */
void *natsHash_Get(void *hash, int64_t key) {
    Dl_info caller = {0};
    dladdr(__builtin_return_address(0), &caller);
    void *library = dlopen(caller.dli_fname, RTLD_NOW | RTLD_NOLOAD);
    void *(*find)(void *, int64_t) = (void *(*)(void *, int64_t))(uintptr_t)dlsym(library, "natsHash_Get");
    void *found = find(hash, key);
    has_found = found != NULL;
    return found;
}

void natsMutex_Unlock(pthread_mutex_t *mutex) {
    pthread_mutex_unlock(mutex);
    if (!has_found) return;
    has_found = 0;
    usleep(1000);
}
