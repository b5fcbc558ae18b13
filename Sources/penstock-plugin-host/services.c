#include "services.h"

#include "channel.h"
#include "plugin_channel.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int least_severe = PENSTOCK_LOG_INFO;

/* Batches that the plugin holds. A batch past its deadline stays until its slot is used again. */
static struct {
    uint64_t token;
    uint32_t count;
} held[PLUGIN_CHANNEL_SLOTS];
static pthread_mutex_t holding = PTHREAD_MUTEX_INITIALIZER;

void expect_outcomes(uint64_t token, uint32_t count) {
    pthread_mutex_lock(&holding);
    unsigned place = 0;
    for (unsigned i = 0; i < PLUGIN_CHANNEL_SLOTS; i++) {
        /* A free place, or else the oldest. */
        if (held[i].token < held[place].token) place = i;
    }
    held[place].token = token;
    held[place].count = count;
    pthread_mutex_unlock(&holding);
}

static uint32_t take_expected(uint64_t token) {
    uint32_t count = 0;
    pthread_mutex_lock(&holding);
    for (unsigned i = 0; i < PLUGIN_CHANNEL_SLOTS; i++) {
        if (held[i].token != token) continue;
        count = held[i].count;
        held[i].token = 0;
        break;
    }
    pthread_mutex_unlock(&holding);
    return count;
}

void expect_no_outcomes(uint64_t token) { (void)take_expected(token); }

static void complete(const penstock_host *host, uint64_t token, const penstock_outcome *outcomes, uint32_t count,
                     uint32_t stride) {
    (void)host;
    plugin_complete head = {.count = count, .stride = stride};
    uint32_t expected = token == 0 ? 0 : take_expected(token);
    head.given = count < expected ? count : expected;
    if (!outcomes || stride < PLUGIN_OUTCOME_SIZE_1_0) head.given = UINT32_MAX;
    uint32_t given = head.given == UINT32_MAX ? 0 : head.given;

    size_t texts = 0, size = stride < sizeof(penstock_outcome) ? stride : sizeof(penstock_outcome);
    penstock_outcome outcome = {0};
    for (uint32_t i = 0; i < given; i++) {
        memcpy(&outcome, (const char *)outcomes + (size_t)i * stride, size);
        if (outcome.reason) texts += strnlen(outcome.reason, PLUGIN_CHANNEL_REASON_LIMIT);
    }
    plugin_outcome *list = given > 0 ? malloc(given * sizeof *list + texts) : NULL;
    if (given > 0 && !list) end_process("out of memory");
    char *reasons = (char *)(list + given), *next = reasons;
    for (uint32_t i = 0; i < given; i++) {
        memcpy(&outcome, (const char *)outcomes + (size_t)i * stride, size);
        /* Measured again, and bounded by what is left: another thread of the plugin may have changed it. */
        size_t length = outcome.reason ? strnlen(outcome.reason, PLUGIN_CHANNEL_REASON_LIMIT) : 0;
        if (length > (size_t)(reasons + texts - next)) length = (size_t)(reasons + texts - next);
        if (length > 0) memcpy(next, outcome.reason, length);
        next += length;
        list[i] = (plugin_outcome){outcome.status, outcome.retry_after_ms, (uint32_t)length};
    }
    struct iovec pieces[] = {
        {&head, sizeof head}, {list, given * sizeof *list}, {reasons, (size_t)(next - reasons)}};
    send_message(PLUGIN_COMPLETE, token, pieces, given > 0 ? 3 : 1);
    free(list);
}

static void ready(const penstock_host *host) {
    (void)host;
    send_message(PLUGIN_READY, 0, NULL, 0);
}

static int32_t log_enabled(const penstock_host *host, int32_t level) {
    (void)host;
    return level <= least_severe;
}

/* Appends at most `limit` bytes of a text; what does not fit is left out. */
static size_t append(char *line, size_t place, const char *text, size_t limit) {
    if (!text) return place;
    size_t length = strnlen(text, limit), room = PLUGIN_CHANNEL_LOG_LIMIT - place;
    if (length > room) length = room;
    memcpy(line + place, text, length);
    return place + length;
}

static void write_log(const penstock_host *host, int32_t level, const char *message, const penstock_field *fields,
                      uint32_t count) {
    (void)host;
    if (level > least_severe) return;
    char line[PLUGIN_CHANNEL_LOG_LIMIT];
    size_t length = append(line, 0, message, 1024);
    for (uint32_t i = 0; fields && i < count && i < 16; i++) {
        if (!fields[i].name || !fields[i].value) continue;
        length = append(line, length, " ", 1);
        length = append(line, length, fields[i].name, 64);
        length = append(line, length, "=", 1);
        length = append(line, length, fields[i].value, 256);
    }
    send_message(PLUGIN_LOG, (uint64_t)(uint32_t)level, &(struct iovec){line, length}, 1);
}

static void send_metric(uint32_t type, uint64_t amount, const char *name) {
    /* A name that is too long stays too long, so that the daemon refuses it. */
    size_t length = name ? strnlen(name, PLUGIN_CHANNEL_NAME_LIMIT) : 0;
    send_message(type, amount, &(struct iovec){(void *)(uintptr_t)name, length}, 1);
}

static void counter_add(const penstock_host *host, const char *name, uint64_t amount) {
    (void)host;
    send_metric(PLUGIN_COUNTER, amount, name);
}

static void gauge_set(const penstock_host *host, const char *name, double value) {
    (void)host;
    uint64_t bits;
    memcpy(&bits, &value, sizeof bits);
    send_metric(PLUGIN_GAUGE, bits, name);
}

static const void *extension(const penstock_host *host, const char *id) {
    (void)host;
    (void)id;
    return NULL;
}

static void complete_none(const penstock_host *host, uint64_t token, const penstock_outcome *outcomes, uint32_t count,
                          uint32_t stride) {
    (void)host, (void)token, (void)outcomes, (void)count, (void)stride;
}

static void ready_for_none(const penstock_host *host) { (void)host; }

static penstock_host host;

const penstock_host *make_host_of_source(const char *name, const char *journal, int log_level) {
    (void)make_host(name, journal, log_level);
    host.complete = complete_none;
    host.ready = ready_for_none;
    return &host;
}

const penstock_host *make_host(const char *destination, const char *journal, int log_level) {
    least_severe = log_level;
    host = (penstock_host){
        .struct_size = sizeof host, .destination = destination, .journal = journal, .complete = complete,
        .ready = ready, .log_enabled = log_enabled, .log = write_log, .counter_add = counter_add,
        .gauge_set = gauge_set, .extension = extension};
    return &host;
}
