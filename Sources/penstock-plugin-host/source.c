#include "source.h"

#include "channel.h"
#include "needs.h"
#include "offers.h"
#include "plugin_channel.h"
#include "reply.h"
#include "services.h"

#include <stdlib.h>
#include <string.h>

penstock_source source;
static penstock_source_instance instance;
static bool is_started;

bool set_source(const penstock_source *found) {
    if (found->struct_size < PLUGIN_SOURCE_SIZE_1_1) return false;
    memcpy(&source, found, sizeof source);
    return source.create != NULL;
}

bool has_source_instance(void) { return instance.destroy != NULL; }

void create_source(const char *body, size_t size) {
    plugin_source_create sizes;
    if (size < sizeof sizes) end_process("a short create message");
    memcpy(&sizes, body, sizeof sizes);
    const char *name = body + sizeof sizes, *journal = name + sizes.source_size;
    const char *settings = journal + sizes.journal_size, *paths = settings + sizes.settings_size;
    if (sizes.source_size == 0 || sizes.journal_size == 0 || sizes.settings_size == 0
        || size != sizeof sizes + (size_t)sizes.source_size + sizes.journal_size + sizes.settings_size
                + sizes.paths_size
        || journal[-1] || settings[-1] || paths[-1] || body[size - 1]) {
        end_process("a wrong create message");
    }
    if (!source.create) end_process("create before load");
    /* The host's tables and their texts outlive the instance. */
    const char *names[] = {strdup(name), strdup(journal)};
    if (!names[0] || !names[1]) end_process("out of memory");
    const penstock_host *host = make_host_of_source(names[0], names[1], sizes.log_level);
    confine_to(source.needs, paths, sizes.paths_size);
    memset(&instance, 0, sizeof instance);
    instance.struct_size = sizeof instance;
    int32_t status = source.create(host, make_source_host(sizes.window), settings, &instance, error, sizeof error);
    if (status != PENSTOCK_OK) {
        memset(&instance, 0, sizeof instance);
        reply_status(PENSTOCK_FAILED);
        return;
    }
    if (!instance.start || !instance.durable || !instance.stop || !instance.destroy) {
        memset(&instance, 0, sizeof instance);
        reply_error(PLUGIN_INCOMPATIBLE, "");
        return;
    }
    reply_status(PENSTOCK_OK);
}

void connect_source(void) {
    reply_status(instance.connect ? instance.connect(instance.context, error, sizeof error) : PENSTOCK_OK);
}

/* The string of `length` bytes at `*next`, which moves behind it. */
static penstock_string take(const char **next, const char *end, uint32_t length) {
    if (length > (size_t)(end - *next)) end_process("a text outside of its message");
    const penstock_string text = {*next, length};
    *next += length;
    return text;
}

static void take_struct(void *value, size_t size, const char **next, const char *end) {
    if (size > (size_t)(end - *next)) end_process("a short message");
    memcpy(value, *next, size);
    *next += size;
}

void start_source(const char *body, size_t size) {
    if (!has_source_instance() || is_started) end_process("start without a new instance");
    const char *end = body + size;
    uint32_t count = 0;
    plugin_lane head;
    for (const char *next = body; next < end; count++) {
        take_struct(&head, sizeof head, &next, end);
        (void)take(&next, end, head.name_length);
        (void)take(&next, end, head.position_length);
    }
    penstock_lane *lanes = calloc((size_t)count + 1, sizeof *lanes);
    if (!lanes) end_process("out of memory");
    const char *next = body;
    for (uint32_t i = 0; i < count; i++) {
        take_struct(&head, sizeof head, &next, end);
        lanes[i].name = take(&next, end, head.name_length);
        lanes[i].position = take(&next, end, head.position_length);
    }
    is_started = true;
    permit_offers(true);
    int32_t status = instance.start(instance.context, lanes, count, sizeof *lanes, error, sizeof error);
    if (status != PENSTOCK_OK) permit_offers(false);
    free(lanes);
    reply_status(status);
}

/* Calls the plugin's `durable` for the first of the offers. */
static bool report_offer(const char **next, const char *end) {
    plugin_stored head;
    take_struct(&head, sizeof head, next, end);
    if (head.refused > PLUGIN_OFFER_EVENTS) end_process("too many refused events");
    const char *heads = take(next, end, head.refused * (uint32_t)sizeof(plugin_refused)).data;
    penstock_durable stored = {
        .struct_size = sizeof stored, .refusal_count = head.refused, .token = head.token,
        .lane = {.name = take(next, end, head.name_length)}, .refusal_stride = sizeof(penstock_refusal)};
    stored.lane.position = take(next, end, head.position_length);
    const penstock_string reasons = take(next, end, head.reasons_length);
    const char *reason = reasons.data;
    penstock_refusal *refusals = calloc((size_t)head.refused + 1, sizeof *refusals);
    if (!refusals) end_process("out of memory");
    for (uint32_t i = 0; i < head.refused; i++) {
        plugin_refused refused;
        memcpy(&refused, heads + i * sizeof refused, sizeof refused);
        refusals[i].index = refused.index;
        refusals[i].reason = take(&reason, reasons.data + reasons.length, refused.reason_length);
    }
    stored.refusals = refusals;
    instance.durable(instance.context, &stored);
    free(refusals);
    return offer_is_stored(head.cost);
}

void report_stored(const char *body, size_t size) {
    if (!is_started || !has_source_instance()) end_process("offers are stored before start");
    const char *next = body, *end = body + size;
    bool has_room = false;
    while (next < end) has_room |= report_offer(&next, end);
    if (has_room && instance.ready) instance.ready(instance.context);
    reply_status(PENSTOCK_OK);
}

void stop_source(void) {
    instance.stop(instance.context);
    permit_offers(false);
    reply_status(PENSTOCK_OK);
}

void destroy_source(void) {
    instance.destroy(instance.context);
    memset(&instance, 0, sizeof instance);
    reply_status(PENSTOCK_OK);
}
