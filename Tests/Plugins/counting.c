/* A source plugin that offers a counted sequence of events on several lanes, and does on request what plugins should not
 * do, for the host's tests.
 *
 * What concerns the library is chosen when it is compiled (-DVARIANT_...), what concerns an instance by its settings,
 * written without spaces: {"mode":"...","lanes":N,"events":N,"batch":N,"size":N}. The position of a lane is the number
 * of its next event. */
#include "penstock_plugin.h"
#include "raw_messages.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MAX_LANES 16

typedef struct instance {
    const penstock_host *host;
    const penstock_source_host *source;
    char mode[32];
    long lanes, events, batch, size;
    long next[MAX_LANES];
    long stored[MAX_LANES];
    char *text;
    penstock_string *list;
    pthread_t thread;
    int has_thread;
    pthread_mutex_t lock;
    pthread_cond_t changed;
    int is_ready, is_stopping;
    int connects;
    uint64_t token;
} instance;

static int is(const instance *it, const char *mode) { return strcmp(it->mode, mode) == 0; }

/* "segfault_connect", "exit_durable", "hang_stop" ... */
static void harm(const instance *it, const char *function) {
    const char *place = strchr(it->mode, '_');
    if (!place || strcmp(place + 1, function) != 0) return;
    if (strncmp(it->mode, "segfault_", 9) == 0) *(volatile int *)(uintptr_t)8 = 1;
    if (strncmp(it->mode, "exit_", 5) == 0) exit(0);
    if (strncmp(it->mode, "hang_", 5) == 0) {
        for (;;) pause();
    }
}

static penstock_string string(const char *text) { return (penstock_string){text, strlen(text)}; }

static int32_t make(instance *it, const penstock_offer *offer) {
    char error[256] = "";
    int32_t answer = it->source->offer(it->host, offer, error, sizeof error);
    it->host->counter_add(it->host, answer == PENSTOCK_OK ? "taken" : answer == PENSTOCK_BUSY ? "busy" : "failed", 1);
    if (answer == PENSTOCK_FAILED) it->host->log(it->host, PENSTOCK_LOG_WARNING, error, NULL, 0);
    return answer;
}

static int32_t offer(instance *it, penstock_string name, penstock_string position, const penstock_string *events,
                     uint32_t count, uint64_t token) {
    const penstock_offer offer = {
        .struct_size = sizeof offer, .count = count, .token = token, .lane = {name, position}, .events = events};
    return make(it, &offer);
}

/* The id of a journal that stored the events before. */
static const char *const edge = "0190163d-8694-4b1a-9b7c-2f3e4d5c6b7a";

static int should_stop(instance *it) {
    pthread_mutex_lock(&it->lock);
    int stopping = it->is_stopping;
    pthread_mutex_unlock(&it->lock);
    return stopping;
}

static void wait_until_ready(instance *it) {
    pthread_mutex_lock(&it->lock);
    while (!it->is_ready && !it->is_stopping) pthread_cond_wait(&it->changed, &it->lock);
    it->is_ready = 0;
    pthread_mutex_unlock(&it->lock);
}

/* The next events of a lane. The token has the lane and the position behind them. */
static int offer_next(instance *it, long lane) {
    char name[16], position[32];
    snprintf(name, sizeof name, "lane-%ld", lane);
    long count = it->events - it->next[lane] < it->batch ? it->events - it->next[lane] : it->batch;
    char *place = it->text;
    for (long i = 0; i < count; i++) {
        int length = sprintf(place, "{\"type\":\"track\",\"event\":\"E\",\"userId\":\"%ld\",\"messageId\":\"%ld-%ld\","
            "\"pad\":\"%0*d\"}", lane, lane, it->next[lane] + i, (int)it->size + 1, 0);
        it->list[i] = (penstock_string){place, (size_t)length};
        place += length;
    }
    snprintf(position, sizeof position, "%ld", it->next[lane] + count);
    penstock_offer next = {
        .struct_size = sizeof next, .count = (uint32_t)count, .lane = {string(name), string(position)},
        .token = (uint64_t)lane << 32 | (uint64_t)(it->next[lane] + count), .events = it->list};
    penstock_place places[1000];
    int64_t times[1000];
    if (is(it, "edge")) {
        struct timespec now;
        clock_gettime(CLOCK_REALTIME, &now);
        /* An hour ago. */
        for (long i = 0; i < count; i++) times[i] = (now.tv_sec - 3600) * 1000000000LL + now.tv_nsec;
        next.host = string("edge-1");
        next.received_at_ns = times;
    }
    if (is(it, "origin")) {
        /* Two parts at each position. */
        for (long i = 0; i < count; i++) {
            places[i] = (penstock_place){(uint64_t)(it->next[lane] + i) / 2, (uint32_t)(it->next[lane] + i) % 2, 0};
        }
        next.origin = string(edge);
        next.places = places;
    }
    if (is(it, "expires")) it->source->lane_until(it->host, string(name), 1);
    int32_t answer = make(it, &next);
    /* The host has to have copied them. */
    memset(it->text, 'x', (size_t)(place - it->text));
    if (answer == PENSTOCK_OK) it->next[lane] += count;
    if (answer == PENSTOCK_BUSY) wait_until_ready(it);
    return answer != PENSTOCK_FAILED;
}

static void *count(void *context) {
    instance *it = context;
    int is_done = 0;
    while (!is_done && !should_stop(it)) {
        is_done = 1;
        for (long lane = 0; lane < it->lanes; lane++) {
            if (it->next[lane] >= it->events) continue;
            is_done = 0;
            if (!offer_next(it, lane)) return NULL;
        }
    }
    it->host->gauge_set(it->host, "done", is_done);
    return NULL;
}

/* Events that only the host can judge. */
static void offer_odd(instance *it) {
    static char large[100000];
    memset(large, 'x', sizeof large);
    memcpy(large, "{\"type\":\"track\",\"event\":\"", 25);
    memcpy(large + sizeof large - 15, "\",\"userId\":\"u\"}", 15);
    const penstock_string events[] = {
        string("{\"type\":\"track\",\"event\":\"first\",\"userId\":\"u\"}"),
        string("{\n  \"type\":\"track\",\n\t\"event\":\"a \\\" \\\\\",\r\n\"userId\":\"u\"\n}\n"),
        string("{\"type\":\"track\",\"event\":\"line\nfeed\",\"userId\":\"u\"}"),
        string(""), {NULL, 0}, string(" \n\t "), string("{\"type\":"), {large, sizeof large},
        string("{\"type\":\"track\",\"event\":\"x\",\"userId\":\"u\"}\n{\"type\":\"track\",\"event\":\"y\",\"userId\":\"u\"}"),
        string("[1]"), string("{\"type\":\"track\",\"userId\":\"u\"}"), string("\xff"), {"{\0}", 3},
        string("{\"type\":\"track\",\"event\":\"last\",\"userId\":\"u\"}")};
    offer(it, string("odd"), string("p"), events, sizeof events / sizeof *events, 7);
}

/* What is no offer. */
static void offer_wrong(instance *it) {
    char long_text[65];
    memset(long_text, 'x', sizeof long_text);
    const penstock_string good = string("{\"type\":\"track\",\"event\":\"E\",\"userId\":\"u\"}");
    const penstock_string names[] = {
        {NULL, 0}, {NULL, 3}, string(""), {long_text, 65}, string("a\nb"), {"a\0b", 3}, string("\x7f"), string("\xc2\x85"),
        string("\xff"), string("\xc0\xaf"), string("\xed\xa0\x80"), string("\xf4\x90\x80\x80"), string("\xe2\x82")};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) offer(it, names[i], string("1"), &good, 1, 1);
    offer(it, string("a"), (penstock_string){long_text, 65}, &good, 1, 2);
    offer(it, string("a"), (penstock_string){NULL, 1}, &good, 1, 3);
    offer(it, string("a"), string("1"), NULL, 1, 4);
    const penstock_string without_data = {NULL, 5};
    offer(it, string("a"), string("1"), &without_data, 1, 5);
    offer(it, string("a"), string("1"), &good, UINT32_MAX, 6);
    const penstock_string huge[] = {{it->text, SIZE_MAX}, {it->text, SIZE_MAX}};
    offer(it, string("a"), string("1"), huge, 1, 7);
    offer(it, string("a"), string("1"), huge, 2, 8);
    char *many = calloc(1, (16 << 20) + 1);
    penstock_string *list = calloc(1001, sizeof *list);
    if (!many || !list) abort();
    for (int i = 0; i < 1001; i++) list[i] = good;
    offer(it, string("a"), string("1"), list, 1001, 9);
    list[0] = (penstock_string){many, 16 << 20};
    offer(it, string("a"), string("1"), list, 1, 10);
    list[0] = (penstock_string){many, (256 << 10) - 40};
    offer(it, string("a"), string("1"), list, 2, 11);
    free(many);
    free(list);
    const penstock_place place = {1, 0, 0};
    penstock_offer odd = {
        .struct_size = sizeof odd, .count = 1, .token = 13, .lane = {string("a"), string("1")}, .events = &good,
        .origin = string(edge)};
    make(it, &odd);
    odd.places = &place;
    odd.origin.length = 35;
    make(it, &odd);
    odd.origin = (penstock_string){NULL, 36};
    make(it, &odd);
    char host[256];
    memset(host, 'x', sizeof host);
    const penstock_string hosts[] = {{host, 256}, {NULL, 1}, string("a\n"), string("\xff")};
    for (size_t i = 0; i < sizeof hosts / sizeof *hosts; i++) {
        const penstock_offer from = {
            .struct_size = sizeof from, .count = 1, .token = 14, .lane = {string("a"), string("1")}, .events = &good,
            .host = hosts[i]};
        make(it, &from);
    }
    /* As from a plugin that knows no more than version 1.1: what lies behind its struct is not read. */
    const penstock_offer old = {
        .struct_size = 80, .count = 1, .token = 15, .lane = {string("old"), string("1")}, .events = &good,
        .host = {NULL, SIZE_MAX}, .received_at_ns = (const int64_t *)(uintptr_t)8};
    make(it, &old);
    const penstock_offer small = {.struct_size = 48, .lane = {string("a"), string("1")}};
    char error[4] = "abc";
    if (it->source->offer(it->host, &small, error, sizeof error) == PENSTOCK_FAILED && error[3] == 0) {
        it->host->counter_add(it->host, "failed", 1);
    }
    if (it->source->offer(it->host, NULL, NULL, 0) == PENSTOCK_FAILED) it->host->counter_add(it->host, "failed", 1);
    /* At the bounds. */
    char name[65] = "", position[64];
    for (int i = 0; i < 32; i++) memcpy(name + 2 * i, "\xc3\xa9", 2);
    memset(position, 0, sizeof position);
    offer(it, (penstock_string){name, 64}, (penstock_string){position, 64}, &good, 1, 12);
}

static void *misuse_channel(void *context) {
    instance *it = context;
    if (is(it, "raw_window")) {
        for (int i = 0; i < 1000; i++) write_offer(30 + 100000, 1, "a", 100000);
    }
    if (is(it, "raw_garbage")) {
        char garbage[4096];
        memset(garbage, 0xa5, sizeof garbage);
        write_raw(garbage, sizeof garbage);
    }
    if (is(it, "raw_short") || is(it, "raw_early")) write_offer(8, 1, "a", 1);
    if (is(it, "raw_name")) write_offer(30, 1, "\n", 0);
    if (is(it, "raw_length")) write_offer(30 + 10, 1, "a", 11);
    if (is(it, "raw_count")) write_offer(30, UINT32_MAX, "a", 0);
    if (is(it, "raw_complete")) write_raw((const uint32_t[]){33, 0, 1, 0}, 16);
    if (is(it, "raw_reply")) write_raw((const uint32_t[]){32, 0, 1, 0}, 16);
    if (is(it, "raw_lane")) write_raw((const uint32_t[]){39, 0, 1, 0}, 16);
    if (is(it, "raw_until")) write_raw((const uint32_t[]){43, 0, 1, 0}, 16);
    if (is(it, "raw_long")) write_raw((const uint32_t[]){41, 1 << 20, 1, 0}, 16);
    for (;;) pause();
    return NULL;
}

static void *work(void *context) {
    instance *it = context;
    harm(it, "thread");
    if (is(it, "uses")) {
        it->host->gauge_set(it->host, "inet", socket(AF_INET, SOCK_STREAM, 0) >= 0);
        it->host->gauge_set(it->host, "unix", socket(AF_UNIX, SOCK_STREAM, 0) >= 0);
    } else if (is(it, "odd")) {
        offer_odd(it);
    } else if (is(it, "wrong")) {
        offer_wrong(it);
    } else if (is(it, "empty")) {
        offer(it, string("empty"), string("p1"), NULL, 0, 1);
        offer(it, string("empty"), string("p2"), NULL, 0, 2);
    } else if (is(it, "large")) {
        /* More than the window: it passes alone. */
        for (uint64_t i = 0; i < 3; i++) {
            size_t size = 5 << 20;
            char *event = malloc(size);
            if (!event) abort();
            memset(event, 'x', size);
            const penstock_string one = {event, size};
            while (offer(it, string("large"), string("p"), &one, 1, i + 1) == PENSTOCK_BUSY && !should_stop(it)) {
                wait_until_ready(it);
            }
            free(event);
        }
    } else if (is(it, "gives_up")) {
        count(it);
        it->source->fail(it->host, "the stream\nis gone");
    } else if (is(it, "problem")) {
        it->source->lane_opened(it->host, string("idle"));
        it->source->lane_opened(it->host, string("left"));
        it->source->lane_closed(it->host, string("left"));
        it->source->lane_opened(it->host, (penstock_string){NULL, 5});
        it->source->problem(it->host, "nobody answers\nat nats.example");
    } else {
        count(it);
    }
    return NULL;
}

static int32_t test_connect(void *context, char *error, size_t error_size) {
    instance *it = context;
    harm(it, "connect");
    if (is(it, "raw_early")) misuse_channel(it);
    if (is(it, "early")) offer(it, string("a"), string("1"), NULL, 0, 1);
    it->connects++;
    it->host->counter_add(it->host, "connects", 1);
    if ((is(it, "connect_fails_twice") && it->connects <= 2) || is(it, "connect_fails")) {
        snprintf(error, error_size, "nobody answers");
        return PENSTOCK_FAILED;
    }
    return PENSTOCK_OK;
}

static int32_t test_start(void *context, const penstock_lane *lanes, uint32_t count, uint32_t stride, char *error,
                          size_t error_size) {
    instance *it = context;
    harm(it, "start");
    it->host->counter_add(it->host, "starts", 1);
    it->host->gauge_set(it->host, "known_lanes", count);
    for (uint32_t i = 0; i < count; i++) {
        const penstock_lane *lane = (const penstock_lane *)(const void *)((const char *)lanes + (size_t)stride * i);
        char name[65] = "", position[65] = "";
        memcpy(name, lane->name.data, lane->name.length);
        memcpy(position, lane->position.data, lane->position.length);
        long number = 0;
        if (!is(it, "forgets") && !is(it, "origin") && sscanf(name, "lane-%ld", &number) == 1 && number >= 0 && number < MAX_LANES) {
            it->next[number] = it->stored[number] = atol(position);
        }
    }
    if (is(it, "start_fails")) {
        snprintf(error, error_size, "the stream is unknown");
        return PENSTOCK_FAILED;
    }
    it->has_thread = pthread_create(&it->thread, NULL, strncmp(it->mode, "raw_", 4) == 0 ? misuse_channel : work, it) == 0;
    return PENSTOCK_OK;
}

static void test_ready(void *context) {
    instance *it = context;
    harm(it, "ready");
    it->host->counter_add(it->host, "ready", 1);
    pthread_mutex_lock(&it->lock);
    it->is_ready = 1;
    pthread_cond_signal(&it->changed);
    pthread_mutex_unlock(&it->lock);
}

static void test_durable(void *context, const penstock_durable *durable) {
    instance *it = context;
    harm(it, "durable");
    it->host->counter_add(it->host, "durable", 1);
    for (uint32_t i = 0; i < durable->refusal_count; i++) {
        const penstock_refusal *refusal =
            (const penstock_refusal *)(const void *)((const char *)durable->refusals + (size_t)durable->refusal_stride * i);
        char line[1200];
        snprintf(line, sizeof line, "refused %u: %.*s", refusal->index, (int)refusal->reason.length, refusal->reason.data);
        it->host->log(it->host, PENSTOCK_LOG_WARNING, line, NULL, 0);
    }
    long lane = 0, position = (long)(durable->token & UINT32_MAX);
    char name[65] = "", text[65] = "";
    memcpy(name, durable->lane.name.data, durable->lane.name.length);
    if (sscanf(name, "lane-%ld", &lane) != 1) return;
    memcpy(text, durable->lane.position.data, durable->lane.position.length);
    int is_in_order = lane == (long)(durable->token >> 32) && atol(text) == position && position > it->stored[lane];
    it->host->counter_add(it->host, is_in_order ? "in_order" : "out_of_order", 1);
    it->stored[lane] = position;
}

static void test_stop(void *context) {
    instance *it = context;
    harm(it, "stop");
    pthread_mutex_lock(&it->lock);
    it->is_stopping = 1;
    pthread_cond_broadcast(&it->changed);
    pthread_mutex_unlock(&it->lock);
    if (it->has_thread && strncmp(it->mode, "raw_", 4) != 0) pthread_join(it->thread, NULL);
}

static void test_destroy(void *context) {
    instance *it = context;
    harm(it, "destroy");
    if (is(it, "late")) offer(it, string("a"), string("1"), NULL, 0, 1);
    it->host->counter_add(it->host, "destroys", 1);
    free(it->text);
    free(it->list);
    free(it);
}

static long number(const char *settings, const char *name, long otherwise) {
    const char *place = strstr(settings, name);
    return place ? atol(place + strlen(name)) : otherwise;
}

static int32_t test_create(const penstock_host *host, const penstock_source_host *source, const char *settings,
                           penstock_source_instance *out, char *error, size_t error_size) {
    instance *it = calloc(1, sizeof *it);
    if (!it) return PENSTOCK_FAILED;
    it->host = host;
    it->source = source;
    const char *mode = strstr(settings, "\"mode\":\"");
    if (mode) sscanf(mode + 8, "%31[a-z_]", it->mode);
    it->lanes = number(settings, "\"lanes\":", 1);
    it->events = number(settings, "\"events\":", 10);
    it->batch = number(settings, "\"batch\":", 10);
    it->size = number(settings, "\"size\":", 0);
    it->text = malloc((size_t)it->batch * (size_t)(it->size + 200));
    it->list = calloc((size_t)it->batch, sizeof *it->list);
    pthread_mutex_init(&it->lock, NULL);
    pthread_cond_init(&it->changed, NULL);
    harm(it, "create");
    if (is(it, "early")) offer(it, string("a"), string("1"), NULL, 0, 1);
    if (is(it, "create_fails")) {
        snprintf(error, error_size, "the moon is in the wrong phase");
        return PENSTOCK_FAILED;
    }
    host->complete(host, 1, NULL, 0, sizeof(penstock_outcome));
    host->ready(host);
    out->context = it;
    out->connect = test_connect;
    out->start = is(it, "no_start") ? NULL : test_start;
    out->ready = test_ready;
    out->durable = test_durable;
    out->stop = test_stop;
    out->destroy = test_destroy;
    return PENSTOCK_OK;
}

static const penstock_source counting = {
#ifdef VARIANT_SHORT_SOURCE
    .struct_size = 24,
#else
    .struct_size = sizeof(penstock_source),
#endif
    .settings_schema = "{\"type\":\"object\",\"additionalProperties\":false,\"properties\":{"
                       "\"mode\":{\"type\":\"string\"},\"lanes\":{\"type\":\"integer\",\"maximum\":16},"
                       "\"events\":{\"type\":\"integer\"},\"batch\":{\"type\":\"integer\"},\"size\":{\"type\":\"integer\"}}}",
    .needs = "", .create = test_create,
};

static const void *test_extension(const char *id) { return strcmp(id, PENSTOCK_SOURCE) == 0 ? &counting : NULL; }

#ifdef VARIANT_BOTH
static int32_t create_sink(const penstock_host *host, const char *settings, penstock_instance *out, char *error,
                           size_t error_size) {
    (void)host, (void)settings, (void)out;
    snprintf(error, error_size, "not in this test");
    return PENSTOCK_FAILED;
}
#endif

static const penstock_plugin plugin = {
    .struct_size = sizeof(penstock_plugin), .abi_major = PENSTOCK_PLUGIN_MAJOR, .abi_minor = PENSTOCK_PLUGIN_MINOR,
    .name = "counting", .version = "0.1", .summary = "Offers a counted sequence", .extension = test_extension,
#ifdef VARIANT_BOTH
    .create = create_sink, .needs = "network",
#endif
};

const penstock_plugin *penstock_plugin_entry(uint32_t host_major, uint32_t host_minor) {
    (void)host_minor;
    return host_major == PENSTOCK_PLUGIN_MAJOR ? &plugin : NULL;
}
