/* A plugin that starts threads when it is loaded, as the Go runtime does. At each batch, one of them and the host's
 * thread try to create files: a gauge is 1 if it could. VARIANT_DEAF: the threads block all signals. */
#include "penstock_plugin.h"

#include <fcntl.h>
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

typedef struct instance {
    const penstock_host *host;
    char inside[4096], outside[4096];
    penstock_outcome outcomes[16];
} instance;

static sem_t asked, answered;
static instance *volatile asking;

static void try_files(const instance *it, const char *inside, const char *outside) {
    it->host->gauge_set(it->host, inside, open(it->inside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0);
    it->host->gauge_set(it->host, outside, open(it->outside, O_WRONLY | O_CREAT | O_CLOEXEC, 0600) >= 0);
}

static void *answer(void *nothing) {
    (void)nothing;
    while (1) {
        if (sem_wait(&asked) != 0) continue;
        try_files(asking, "thread_inside", "thread_outside");
        sem_post(&answered);
    }
}

static void *spin(void *nothing) {
    for (volatile int forever = 1; forever;) usleep(100);
    return nothing;
}

static void *start_another(void *nothing) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, answer, NULL) != 0) abort();
    return spin(nothing);
}

__attribute__((constructor)) static void start(void) {
    sem_init(&asked, 0, 0);
    sem_init(&answered, 0, 0);
#ifdef VARIANT_DEAF
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
#endif
    pthread_t thread;
    if (pthread_create(&thread, NULL, start_another, NULL) != 0) abort();
#ifdef VARIANT_DEAF
    sigemptyset(&all);
    pthread_sigmask(SIG_SETMASK, &all, NULL);
#endif
}

static int32_t deliver(void *context, const penstock_batch *batch, char *error, size_t error_size) {
    (void)error, (void)error_size;
    asking = context;
    sem_post(&asked);
    while (sem_wait(&answered) != 0) {}
    try_files(context, "main_inside", "main_outside");
    for (uint32_t i = 0; i < batch->count && i < 16; i++) asking->outcomes[i].status = PENSTOCK_DELIVERED;
    asking->host->complete(asking->host, batch->token, asking->outcomes, batch->count, sizeof asking->outcomes[0]);
    return PENSTOCK_OK;
}

static void stop(void *context) { (void)context; }

static int32_t create(const penstock_host *host, const char *settings, penstock_instance *out, char *error,
                      size_t error_size) {
    instance *it = calloc(1, sizeof *it);
    const char *format = "{\"directory\":\"%4000[^\"]\",\"path\":\"%4000[^\"]\"}";
    if (!it || sscanf(settings, format, it->outside, it->inside) != 2) {
        snprintf(error, error_size, "settings: %s", settings);
        return PENSTOCK_FAILED;
    }
    it->host = host;
    strcat(it->outside, "/outside");
    out->max_in_flight = 1;
    out->context = it;
    out->deliver = deliver;
    out->stop = stop;
    out->destroy = free;
    return PENSTOCK_OK;
}

static const penstock_plugin plugin = {
    .struct_size = sizeof plugin, .abi_major = PENSTOCK_PLUGIN_MAJOR, .abi_minor = PENSTOCK_PLUGIN_MINOR,
    .name = "early_threads", .version = "0.1", .summary = "Starts threads when it is loaded",
    .settings_schema = "{\"type\": \"object\", \"properties\": {\"directory\": {\"type\": \"string\"},"
                       " \"path\": {\"type\": \"string\", \"format\": \"path\"}}}",
    .create = create, .needs = "",
};

PENSTOCK_EXPORT const penstock_plugin *penstock_plugin_entry(uint32_t host_major, uint32_t host_minor) {
    (void)host_minor;
    return host_major == PENSTOCK_PLUGIN_MAJOR ? &plugin : NULL;
}
