/* A sink plugin that does on request what plugins should not do, for the host's tests.
 *
 * What concerns the library is chosen when it is compiled (-DVARIANT_...), what concerns an
 * instance by its settings: {"mode":"...","position":N}, written without spaces. */
#include "penstock_plugin.h"

#include <asm/sockios.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#define MAX_KEPT 64
#define MAX_EVENTS 64

typedef struct instance {
    const penstock_host *host;
    char mode[32];
    int64_t position; /* negative: none */
    int connects;
    int offers;
    const penstock_batch *kept[MAX_KEPT];
    int kept_count;
    pthread_t thread;
    int has_thread;
} instance;

static int is(const instance *it, const char *mode) { return strcmp(it->mode, mode) == 0; }

static void join(instance *it) {
    if (it->has_thread) pthread_join(it->thread, NULL);
    it->has_thread = 0;
}

/* Reads everything that the batch points to, and settles all of it as delivered. */
static void settle(const penstock_host *host, const penstock_batch *batch) {
    penstock_outcome outcomes[MAX_EVENTS] = {0};
    for (uint32_t i = 0; i < batch->count && i < MAX_EVENTS; i++) {
        const penstock_event *event = penstock_batch_event(batch, i);
        int whole = event->payload.length >= 2 && event->payload.data[0] == '{' &&
                    event->payload.data[event->payload.length - 1] == '}';
        host->counter_add(host, whole ? "whole_payloads" : "broken_payloads", 1);
        outcomes[i].status = PENSTOCK_DELIVERED;
    }
    host->complete(host, batch->token, outcomes, batch->count, sizeof outcomes[0]);
}

static void *settle_kept(void *context) {
    instance *it = context;
    for (int i = 0; i < it->kept_count; i++) settle(it->host, it->kept[i]);
    it->kept_count = 0;
    return NULL;
}

static void *say_ready(void *context) {
    instance *it = context;
    it->host->ready(it->host);
    return NULL;
}

/* 50 ms later, whether or not stop has returned by then. */
static void *settle_late(void *context) {
    usleep(50000);
    return settle_kept(context);
}

static void in_thread(instance *it, void *(*run)(void *)) {
    join(it);
    it->has_thread = pthread_create(&it->thread, NULL, run, it) == 0;
}

static int32_t test_connect(void *context, char *error, size_t error_size) {
    instance *it = context;
    it->connects++;
    it->host->counter_add(it->host, "connects", 1);
    if (is(it, "connect_fails_once") && it->connects == 1) {
        snprintf(error, error_size, "nobody answers at db.example");
        return PENSTOCK_FAILED;
    }
    return PENSTOCK_OK;
}

static void settle_mixed(instance *it, const penstock_batch *batch) {
    char text[] = "bad row";
    penstock_outcome outcomes[MAX_EVENTS] = {0};
    if (batch->count > 1) outcomes[1].status = PENSTOCK_DELIVERED;
    if (batch->count > 2) outcomes[2] = (penstock_outcome){PENSTOCK_RETRY, 1500, "later"};
    if (batch->count > 3) outcomes[3] = (penstock_outcome){PENSTOCK_REJECTED, 0, text};
    if (batch->count > 4) outcomes[4].status = 99;
    it->host->complete(it->host, batch->token, outcomes, batch->count, sizeof outcomes[0]);
    /* The host has to have copied it. */
    memset(text, 'x', sizeof text - 1);
}

/* An array whose elements are larger than the host's, as a newer header would have them. */
static void settle_with_stride(instance *it, const penstock_batch *batch) {
    struct {
        penstock_outcome outcome;
        uint64_t more[3];
    } outcomes[MAX_EVENTS];
    memset(outcomes, 0xff, sizeof outcomes);
    for (uint32_t i = 0; i < batch->count && i < MAX_EVENTS; i++) {
        outcomes[i].outcome = (penstock_outcome){PENSTOCK_DELIVERED, 0, NULL};
    }
    it->host->complete(it->host, batch->token, &outcomes[0].outcome, batch->count, sizeof outcomes[0]);
}

static void *spin(void *context) {
    for (volatile instance *it = context; it->mode[0];) {}
    return NULL;
}

/* What a plugin needs permission for, each as a gauge: 1 if it has it. */
static void use(instance *it) {
    const penstock_host *host = it->host;
    const struct rlimit more = {RLIM_INFINITY, RLIM_INFINITY};
    host->gauge_set(host, "inet", socket(AF_INET, SOCK_STREAM, 0) >= 0);
    host->gauge_set(host, "netlink", socket(AF_NETLINK, SOCK_RAW, 0) >= 0);
    host->gauge_set(host, "unix", socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    host->gauge_set(host, "raises_limits", setrlimit(RLIMIT_CPU, &more) == 0);
    host->gauge_set(host, "changes_modes", chmod("/nonexistent", 0600) == 0 || errno != EPERM);
    host->gauge_set(host, "shares_memory", shmget(IPC_PRIVATE, 1, 0600) >= 0);
    host->gauge_set(host, "reads_home", open("/root", O_RDONLY) >= 0);
    host->gauge_set(host, "reads_usr", open("/usr", O_RDONLY) >= 0);
}

/* What only a separate process survives.
 * It returns for what has no effect. */
static void harm(instance *it, const penstock_batch *batch) {
    if (is(it, "segfault")) *(volatile int *)(uintptr_t)8 = 1;
    if (is(it, "aborts")) abort();
    if (is(it, "exits")) exit(0);
    if (is(it, "deadlocks")) {
        pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
        pthread_mutex_lock(&mutex);
        pthread_mutex_lock(&mutex);
    }
    if (is(it, "loops")) {
        for (volatile int forever = 1; forever;) {}
    }
    if (is(it, "closes_all")) {
        for (int file = 0; file < 100; file++) close(file);
    }
    if (is(it, "sends_garbage")) {
        char garbage[4096];
        memset(garbage, 0xa5, sizeof garbage);
        if (write(5, garbage, sizeof garbage) < 0) abort();
    }
    if (is(it, "writes_batch")) ((char *)(uintptr_t)batch->events->payload.data)[0] = 'X';
    if (is(it, "settles_and_hangs")) {
        settle(it->host, batch);
        pause();
    }
    if (is(it, "prints_much")) {
        char text[4096];
        memset(text, 'x', sizeof text);
        for (int i = 0; i < 1000; i++) {
            if (write(2, text, sizeof text) < 0) abort();
        }
    }
    if (is(it, "long_log")) {
        /* A header of the channel that the host would not send: a log line of 16 MiB. */
        const uint32_t header[4] = {35, 16 << 20, 3, 0};
        if (write(5, header, sizeof header) < 0) abort();
        pause();
    }
    if (is(it, "completes_all")) {
        for (uint64_t token = 1; token < 2000; token++) it->host->complete(it->host, token, NULL, 0, 1);
    }
    if (is(it, "leaks")) {
        for (int i = 0; i < 100000; i++) {
            char *memory = malloc(1 << 20);
            if (memory == NULL) abort();
            memset(memory, 1, 1 << 20);
        }
    }
    if (is(it, "spins") && !it->has_thread) {
        it->has_thread = pthread_create(&it->thread, NULL, spin, it) == 0;
    }
    if (is(it, "opens_files")) {
        int count = 0;
        while (count < 100000 && open("/dev/null", O_RDONLY | O_CLOEXEC) >= 0) count++;
        it->host->gauge_set(it->host, "opened", count);
    }
    if (is(it, "uses")) use(it);
    if (!is(it, "kills")) return;
    pid_t daemon = getppid();
    int refused = kill(daemon, SIGKILL) != 0 && kill(-getpgid(daemon), SIGKILL) != 0 && kill(-1, SIGKILL) != 0
        && kill(0, SIGKILL) != 0;
    refused = refused && fcntl(5, F_SETOWN, daemon) != 0 && fcntl(5, F_SETSIG, SIGKILL) != 0
        && ioctl(5, FIOSETOWN, &daemon) != 0;
    char memory[64];
    snprintf(memory, sizeof memory, "/proc/%d/mem", (int)daemon);
    it->host->counter_add(it->host, open(memory, O_RDONLY) < 0 ? "memory_hidden" : "memory_shown", 1);
    int forked = fork() >= 0;
    char *const arguments[] = {(char *)(uintptr_t)"true", NULL};
    if (!forked) execv("/bin/true", arguments);
    it->host->counter_add(it->host, refused && !forked ? "refused" : "allowed", 1);
}

static int32_t test_deliver(void *context, const penstock_batch *batch, char *error, size_t error_size) {
    instance *it = context;
    const penstock_host *host = it->host;
    it->offers++;
    host->counter_add(host, "offers", 1);
    host->gauge_set(host, "first_position", (double)batch->first_position);
    harm(it, batch);
    if (is(it, "keep")) {
        if (it->kept_count == MAX_KEPT) return PENSTOCK_BUSY;
        it->kept[it->kept_count++] = batch;
    } else if (is(it, "thread")) {
        it->kept[0] = batch;
        it->kept_count = 1;
        in_thread(it, settle_kept);
    } else if (is(it, "late")) {
        it->kept[0] = batch;
        it->kept_count = 1;
        pthread_t thread;
        if (pthread_create(&thread, NULL, settle_late, it) == 0) pthread_detach(thread);
    } else if (is(it, "twice")) {
        uint64_t token = batch->token;
        settle(host, batch);
        host->complete(host, token, NULL, 0, sizeof(penstock_outcome));
    } else if (is(it, "unknown")) {
        host->complete(host, 0, NULL, 0, sizeof(penstock_outcome));
        host->complete(host, batch->token + 1000, NULL, 0, sizeof(penstock_outcome));
        settle(host, batch);
    } else if (is(it, "busy_then_ready") && it->offers == 1) {
        in_thread(it, say_ready);
        return PENSTOCK_BUSY;
    } else if (is(it, "busy")) {
        return PENSTOCK_BUSY;
    } else if (is(it, "fails_once") && it->offers == 1) {
        snprintf(error, error_size, "the connection is gone");
        return PENSTOCK_FAILED;
    } else if (is(it, "goes_back") && it->offers == 2) {
        return PENSTOCK_FAILED;
    } else if (is(it, "settles_and_fails")) {
        settle(host, batch);
        return PENSTOCK_FAILED;
    } else if (is(it, "nonsense")) {
        return 77;
    } else if (is(it, "mixed")) {
        settle_mixed(it, batch);
    } else if (is(it, "strided")) {
        settle_with_stride(it, batch);
    } else if (is(it, "half")) {
        penstock_outcome one = {PENSTOCK_DELIVERED, 0, NULL};
        host->complete(host, batch->token, &one, 1, sizeof one);
    } else if (is(it, "no_outcomes")) {
        host->complete(host, batch->token, NULL, batch->count, sizeof(penstock_outcome));
    } else if (is(it, "talks")) {
        const penstock_field fields[] = {{"rows", "3"}, {"table", "events"}, {NULL, NULL}};
        host->log(host, PENSTOCK_LOG_WARNING, "slow\ncommit", fields, 3);
        host->log(host, PENSTOCK_LOG_DEBUG, "not worth a line", NULL, 0);
        host->gauge_set(host, host->log_enabled(host, PENSTOCK_LOG_DEBUG) ? "debug" : "no_debug", 1);
        host->counter_add(host, "Bad Name", 1);
        for (int i = 0; i < 100; i++) {
            char name[16];
            snprintf(name, sizeof name, "count_%d", i);
            host->counter_add(host, name, 1);
        }
        if (host->extension(host, "penstock.nothing/1") != NULL) return PENSTOCK_FAILED;
        settle(host, batch);
    } else {
        settle(host, batch);
    }
    return PENSTOCK_OK;
}

static int32_t test_flush(void *context, char *error, size_t error_size) {
    instance *it = context;
    if (is(it, "flush_fails")) {
        snprintf(error, error_size, "no space left");
        return PENSTOCK_FAILED;
    }
    settle_kept(it);
    return PENSTOCK_OK;
}

static void test_stop(void *context) {
    instance *it = context;
    join(it);
}

static void test_destroy(void *context) {
    if (is(context, "destroy_hangs")) pause();
    /* Its thread may still use it. */
    if (!is(context, "late")) free(context);
}

static int32_t test_durable(void *context, uint64_t *position, char *error, size_t error_size) {
    instance *it = context;
    (void)error, (void)error_size;
    if (it->position < 0) return PENSTOCK_NONE;
    *position = (uint64_t)it->position;
    return PENSTOCK_OK;
}

static const penstock_position position = {.struct_size = sizeof(penstock_position), .durable = test_durable};

static const void *test_extension(void *context, const char *id) {
    if (is(context, "stateless") || is(context, "fails_once")) return NULL;
    return strcmp(id, PENSTOCK_POSITION) == 0 ? &position : NULL;
}

static int32_t test_create(const penstock_host *host, const char *settings, penstock_instance *out, char *error,
                           size_t error_size) {
    instance *it = calloc(1, sizeof *it);
    if (it == NULL) return PENSTOCK_FAILED;
    const char *mode = strstr(settings, "\"mode\":\"");
    const char *number = strstr(settings, "\"position\":");
    it->host = host;
    if (mode != NULL) sscanf(mode + strlen("\"mode\":\""), "%31[a-z_]", it->mode);
    it->position = number != NULL ? atoll(number + strlen("\"position\":")) : -1;
    if (is(it, "create_fails")) {
        snprintf(error, error_size, "the moon is in the wrong phase");
        free(it);
        return PENSTOCK_FAILED;
    }
    out->max_in_flight = is(it, "late") ? 1 : 3;
    out->max_batch_events = MAX_EVENTS;
    out->max_batch_bytes = 1 << 20;
    out->context = it;
    out->connect = test_connect;
    out->deliver = is(it, "no_deliver") ? NULL : test_deliver;
    out->flush = test_flush;
    out->stop = test_stop;
    out->destroy = test_destroy;
    out->extension = test_extension;
    return PENSTOCK_OK;
}

static const penstock_plugin plugin = {
#ifdef VARIANT_SHORT_STRUCT
    .struct_size = 48,
#elif defined(VARIANT_OLDER)
    /* As of version 1.0. */
    .struct_size = 56,
#else
    .struct_size = sizeof(penstock_plugin),
#endif
#ifdef VARIANT_OTHER_MAJOR
    .abi_major = 7,
#else
    .abi_major = PENSTOCK_PLUGIN_MAJOR,
#endif
#ifdef VARIANT_OLDER
    .abi_minor = 0,
    /* Not part of its table. */
    .extension = (const void *(*)(const char *))(uintptr_t)8,
#else
    .abi_minor = PENSTOCK_PLUGIN_MINOR,
#endif
#ifndef VARIANT_NAMELESS
    .name = "misbehaving",
#endif
    .version = "0.1",
    .summary = "Does what it should not",
#ifdef VARIANT_BROKEN_SCHEMA
    .settings_schema = "{\"type\": \"object\", \"patternProperties\": {}}",
#else
    .settings_schema = "{\"type\": \"object\", \"additionalProperties\": false, \"properties\": {"
                       "\"mode\": {\"type\": \"string\"}, \"position\": {\"type\": \"integer\"}}}",
#endif
    .create = test_create,
#ifdef VARIANT_NEEDS_NOTHING
    .needs = "",
#elif defined(VARIANT_NEEDS_UNIX)
    .needs = "files:/nowhere unix networks",
#elif defined(VARIANT_NEEDS_NETWORK)
    .needs = "network",
#endif
};

#ifdef VARIANT_EXITS
/* Runs while the library is loaded. */
__attribute__((constructor)) static void leave(void) { _exit(0); }
#endif
#ifdef VARIANT_HANGS
__attribute__((constructor)) static void hang(void) {
    for (volatile int forever = 1; forever;) {}
}
#endif

#ifndef VARIANT_NO_ENTRY
const penstock_plugin *penstock_plugin_entry(uint32_t host_major, uint32_t host_minor) {
    (void)host_minor;
#ifdef VARIANT_DECLINES
    return host_major == UINT32_MAX ? &plugin : NULL;
#else
    return host_major == PENSTOCK_PLUGIN_MAJOR ? &plugin : NULL;
#endif
}
#else
const penstock_plugin *not_the_entry(void);
const penstock_plugin *not_the_entry(void) { return &plugin; }
#endif
