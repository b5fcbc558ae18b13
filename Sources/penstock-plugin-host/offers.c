#include "offers.h"

#include "channel.h"
#include "plugin_channel.h"
#include "text.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Held while an offer is sent, too: offers reach the daemon in the order in which they were accepted, and none after
 * `permit_offers(false)`. The daemon never waits before it reads, so no sender waits for long. */
static pthread_mutex_t offering = PTHREAD_MUTEX_INITIALIZER;
static bool is_permitted;
static bool was_declined;
static uint64_t window, used;
static uint32_t max_offer_bytes;

void permit_offers(bool permitted) {
    pthread_mutex_lock(&offering);
    is_permitted = permitted;
    pthread_mutex_unlock(&offering);
}

bool offer_is_stored(uint64_t cost) {
    pthread_mutex_lock(&offering);
    if (cost > used) end_process("an offer is stored that was not made");
    used -= cost;
    bool has_room = was_declined && used <= window / 2;
    if (has_room) was_declined = false;
    pthread_mutex_unlock(&offering);
    return has_room;
}

/* The plugin's string, if it is a name: 1 to `limit` bytes of UTF-8 without control characters. Copied: another thread
 * of the plugin may change it. */
static bool copy_name(penstock_string name, char *copy, size_t limit) {
    if (!name.data || name.length < 1 || name.length > limit) return false;
    memcpy(copy, name.data, name.length);
    return is_plain_text(copy, name.length);
}

/* What an offer names, copied. */
typedef struct {
    char lane[PLUGIN_LANE_LIMIT], host[PLUGIN_HOST_LIMIT];
} offer_names;

static const char *problem_of(const penstock_offer *offer) {
    uint64_t bytes = 0;
    if (offer->count > PLUGIN_OFFER_EVENTS) return "the offer has more than max_offer_events events";
    if (offer->count > 0 && !offer->events) return "the offer has a count of events, but no events";
    if (offer->lane.position.length > PLUGIN_LANE_LIMIT) return "the position has more than 64 bytes";
    if (offer->lane.position.length > 0 && !offer->lane.position.data) return "the position's data is NULL";
    if (offer->origin.length > 0) {
        if (offer->origin.length != PLUGIN_ORIGIN_LENGTH || !offer->origin.data) return "the origin is not a UUID";
        if (offer->count > 0 && !offer->places) return "the offer has an origin, but no places";
    }
    for (uint32_t i = 0; i < offer->count; i++) {
        if (offer->events[i].length > PLUGIN_OFFER_EVENT_BYTES) return "an event has more than 16 MiB less 1 KiB";
        if (offer->events[i].length > 0 && !offer->events[i].data) return "an event's data is NULL";
        bytes += offer->events[i].length;
        if (bytes > max_offer_bytes && offer->count > 1) return "the offer has more than max_offer_bytes bytes";
    }
    return NULL;
}

/* A part of the body that is written next. */
static char *append(char *next, const void *bytes, size_t size) {
    if (size > 0) memcpy(next, bytes, size);
    return next + size;
}

/* What the body has before the events: their places, receive times and lengths, the lane's name, the position, the origin
 * and the host. `lengths` is where it has those. */
static void write_table(char *next, const penstock_offer *offer, const offer_names *names, plugin_offer head,
                        uint32_t **lengths) {
    if (head.origin_length > 0) next = append(next, offer->places, head.count * sizeof *offer->places);
    if (head.has_times) next = append(next, offer->received_at_ns, head.count * sizeof *offer->received_at_ns);
    *lengths = (uint32_t *)(void *)next;
    for (uint32_t i = 0; i < head.count; i++) (*lengths)[i] = (uint32_t)offer->events[i].length;
    next += head.count * sizeof **lengths;
    next = append(next, names->lane, head.name_length);
    next = append(next, offer->lane.position.data, head.position_length);
    next = append(next, offer->origin.data, head.origin_length);
    append(next, names->host, head.host_length);
}

/* The events, if they lie in the plugin's memory as they are sent: one after the other, with a line feed between two. A
 * byte between two events can be read like them. */
static const char *lines_of(const penstock_offer *offer, const uint32_t *lengths, uint32_t count) {
    const char *start = count > 0 ? offer->events[0].data : NULL, *next = start;
    for (uint32_t i = 0; i < count; i++) {
        if (!next || offer->events[i].data != next) return NULL;
        next += lengths[i];
        if (i + 1 < count && (offer->events[i + 1].data != next + 1 || *next != '\n')) return NULL;
        next++;
    }
    return start;
}

/* Copies the events, each with a line feed. Returns whether they still have `size` bytes with them: another thread of the
 * plugin may change them. */
static bool copy_events(char *next, size_t size, const penstock_offer *offer, const uint32_t *lengths, uint32_t count) {
    const char *end = next + size;
    for (uint32_t i = 0; i < count; i++) {
        penstock_string event = offer->events[i];
        if (event.length != lengths[i] || event.length >= (size_t)(end - next)) return false;
        next = append(next, event.data, event.length);
        *next++ = '\n';
    }
    return next == end;
}

/* Sends the offer if the plugin may offer now and the window has room. */
static int32_t send_offer(uint64_t token, uint64_t cost, const struct iovec *pieces, int count, const char **problem) {
    int32_t answer = PENSTOCK_OK;
    pthread_mutex_lock(&offering);
    if (!is_permitted) {
        *problem = "offer only after the host has called start, and before stop has returned";
        answer = PENSTOCK_FAILED;
    } else if (used > 0 && (used > window || cost > window - used)) {
        was_declined = true;
        answer = PENSTOCK_BUSY;
    } else {
        used += cost;
        send_message(PLUGIN_OFFER, token, pieces, count);
    }
    pthread_mutex_unlock(&offering);
    return answer;
}

/* Sends an offer whose table is written. The events are copied unless they lie as they are sent. */
static int32_t send_events(const penstock_offer *offer, plugin_offer head, struct iovec table, const uint32_t *lengths,
                           const char **problem) {
    /* The plugin need not have a line feed behind the last one. */
    static const char line_feed = '\n';
    uint64_t bytes = 0;
    for (uint32_t i = 0; i < head.count; i++) bytes += lengths[i];
    uint64_t cost = PLUGIN_OFFER_COST + (uint64_t)head.count * PLUGIN_OFFER_EVENT_COST + bytes;
    size_t size = bytes + head.count;
    const char *lines = lines_of(offer, lengths, head.count);
    if (lines) {
        const struct iovec pieces[] = {
            {&head, sizeof head}, table, {(void *)(uintptr_t)lines, size - 1}, {(void *)(uintptr_t)&line_feed, 1}};
        return send_offer(offer->token, cost, pieces, 4, problem);
    }
    char *copy = malloc(size + 1);
    if (!copy) end_process("out of memory");
    int32_t answer = PENSTOCK_FAILED;
    if (copy_events(copy, size, offer, lengths, head.count)) {
        const struct iovec pieces[] = {{&head, sizeof head}, table, {copy, size}};
        answer = send_offer(offer->token, cost, pieces, 3, problem);
    } else {
        *problem = "the offer changed while the host read it";
    }
    free(copy);
    return answer;
}

static int32_t check_and_send(const penstock_offer *offer, const char **problem) {
    offer_names names;
    *problem = problem_of(offer);
    if (!*problem && !copy_name(offer->lane.name, names.lane, sizeof names.lane)) {
        *problem = "the lane's name must have 1 to 64 bytes of UTF-8 without control characters";
    }
    if (!*problem && offer->host.length > 0 && !copy_name(offer->host, names.host, sizeof names.host)) {
        *problem = "the host's name must have at most 255 bytes of UTF-8 without control characters";
    }
    if (*problem) return PENSTOCK_FAILED;
    plugin_offer head = {
        .count = offer->count, .name_length = (uint32_t)offer->lane.name.length,
        .position_length = (uint32_t)offer->lane.position.length, .origin_length = (uint32_t)offer->origin.length,
        .host_length = (uint32_t)offer->host.length, .has_times = offer->received_at_ns != NULL};
    size_t each = sizeof(uint32_t);
    if (head.origin_length > 0) each += sizeof *offer->places;
    if (head.has_times) each += sizeof *offer->received_at_ns;
    size_t size = head.count * each + head.name_length + head.position_length + head.origin_length + head.host_length;
    char *table = malloc(size);
    uint32_t *lengths;
    if (!table) end_process("out of memory");
    write_table(table, offer, &names, head, &lengths);
    int32_t answer = send_events(offer, head, (struct iovec){table, size}, lengths, problem);
    free(table);
    return answer;
}

static int32_t offer_events(const penstock_host *host, const penstock_offer *offer, char *text, size_t text_size) {
    (void)host;
    const char *problem = "set the offer's struct_size to its size";
    int32_t answer = PENSTOCK_FAILED;
    if (offer && offer->struct_size >= PLUGIN_OFFER_SIZE_1_1) {
        penstock_offer copy = {0};
        memcpy(&copy, offer, offer->struct_size < sizeof copy ? offer->struct_size : sizeof copy);
        answer = check_and_send(&copy, &problem);
    }
    if (problem && text && text_size > 0) snprintf(text, text_size, "%s", problem);
    return answer;
}

static void send_lane(uint32_t type, penstock_string lane) {
    char name[PLUGIN_LANE_LIMIT];
    /* It is shown to the operator, no more: a wrong name is left out. */
    if (copy_name(lane, name, sizeof name)) send_message(type, 0, &(struct iovec){name, lane.length}, 1);
}

static void lane_opened(const penstock_host *host, penstock_string lane) {
    (void)host;
    send_lane(PLUGIN_LANE_OPENED, lane);
}

static void lane_closed(const penstock_host *host, penstock_string lane) {
    (void)host;
    send_lane(PLUGIN_LANE_CLOSED, lane);
}

static void lane_until(const penstock_host *host, penstock_string lane, int64_t deadline_ns) {
    (void)host;
    char name[PLUGIN_LANE_LIMIT];
    if (!copy_name(lane, name, sizeof name)) end_process("lane_until: the lane's name is not valid");
    send_message(PLUGIN_LANE_UNTIL, (uint64_t)deadline_ns, &(struct iovec){name, lane.length}, 1);
}

static void send_text(uint32_t type, const char *text) {
    size_t length = text ? strnlen(text, PLUGIN_CHANNEL_REASON_LIMIT) : 0;
    send_message(type, 0, &(struct iovec){(void *)(uintptr_t)text, length}, 1);
}

static void problem(const penstock_host *host, const char *text) {
    (void)host;
    send_text(PLUGIN_PROBLEM, text);
}

static void fail(const penstock_host *host, const char *reason) {
    (void)host;
    send_text(PLUGIN_FAIL, reason);
}

const penstock_source_host *make_source_host(uint64_t window_bytes, uint32_t offer_bytes) {
    static penstock_source_host host;
    window = window_bytes;
    max_offer_bytes = offer_bytes;
    host = (penstock_source_host){
        .struct_size = sizeof host, .max_offer_events = PLUGIN_OFFER_EVENTS, .max_offer_bytes = offer_bytes,
        .offer = offer_events, .lane_opened = lane_opened, .lane_closed = lane_closed, .problem = problem,
        .fail = fail, .lane_until = lane_until};
    return &host;
}
