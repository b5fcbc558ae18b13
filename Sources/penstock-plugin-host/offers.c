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

/* The plugin's string, if it is a lane's name: 1 to 64 bytes of UTF-8 without control characters. Copied: another
 * thread of the plugin may change it. */
static bool copy_name(penstock_string name, char copy[PLUGIN_LANE_LIMIT]) {
    if (!name.data || name.length < 1 || name.length > PLUGIN_LANE_LIMIT) return false;
    memcpy(copy, name.data, name.length);
    return is_plain_text(copy, name.length);
}

static const char *problem_of(const penstock_offer *offer, uint64_t *bytes) {
    if (offer->count > PLUGIN_OFFER_EVENTS) return "the offer has more than max_offer_events events";
    if (offer->count > 0 && !offer->events) return "the offer has a count of events, but no events";
    if (offer->lane.position.length > PLUGIN_LANE_LIMIT) return "the position has more than 64 bytes";
    if (offer->lane.position.length > 0 && !offer->lane.position.data) return "the position's data is NULL";
    if (offer->origin.length > 0) {
        if (offer->origin.length != PLUGIN_ORIGIN_LENGTH || !offer->origin.data) return "the origin is not a UUID";
        if (offer->count > 0 && !offer->places) return "the offer has an origin, but no places";
    }
    *bytes = 0;
    for (uint32_t i = 0; i < offer->count; i++) {
        if (offer->events[i].length > PLUGIN_OFFER_EVENT_BYTES) return "an event has more than 16 MiB less 1 KiB";
        if (offer->events[i].length > 0 && !offer->events[i].data) return "an event's data is NULL";
        *bytes += offer->events[i].length;
        if (*bytes > max_offer_bytes && offer->count > 1) return "the offer has more than max_offer_bytes bytes";
    }
    return NULL;
}

/* Writes the offer's body: the events' places and lengths, the lane's name, the position, the origin, the events.
 * Returns whether the events still have `size` bytes with them: another thread of the plugin may change them. */
static bool write_body(char *body, size_t size, const penstock_offer *offer, const char *name, plugin_offer head) {
    size_t places = head.origin_length > 0 ? head.count * sizeof *offer->places : 0;
    if (places > 0) memcpy(body, offer->places, places);
    uint32_t *lengths = (uint32_t *)(void *)(body + places);
    char *next = body + places + head.count * sizeof *lengths, *end = body + size;
    memcpy(next, name, head.name_length);
    next += head.name_length;
    if (head.position_length > 0) memcpy(next, offer->lane.position.data, head.position_length);
    next += head.position_length;
    if (head.origin_length > 0) memcpy(next, offer->origin.data, head.origin_length);
    next += head.origin_length;
    for (uint32_t i = 0; i < head.count; i++) {
        penstock_string event = offer->events[i];
        if (event.length > (size_t)(end - next)) return false;
        if (event.length > 0) memcpy(next, event.data, event.length);
        lengths[i] = (uint32_t)event.length;
        next += event.length;
    }
    return next == end;
}

/* Sends the offer if the plugin may offer now and the window has room. */
static int32_t send_offer(uint64_t token, plugin_offer head, const char *body, size_t size, uint64_t cost,
                          const char **problem) {
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
        struct iovec pieces[] = {{&head, sizeof head}, {(void *)(uintptr_t)body, size}};
        send_message(PLUGIN_OFFER, token, pieces, 2);
    }
    pthread_mutex_unlock(&offering);
    return answer;
}

static int32_t copy_and_send(const penstock_offer *offer, const char **problem) {
    char name[PLUGIN_LANE_LIMIT];
    uint64_t bytes = 0;
    *problem = problem_of(offer, &bytes);
    if (!*problem && !copy_name(offer->lane.name, name)) {
        *problem = "the lane's name must have 1 to 64 bytes of UTF-8 without control characters";
    }
    if (*problem) return PENSTOCK_FAILED;
    plugin_offer head = {offer->count, (uint32_t)offer->lane.name.length, (uint32_t)offer->lane.position.length,
                         (uint32_t)offer->origin.length};
    size_t each = sizeof(uint32_t) + (head.origin_length > 0 ? sizeof *offer->places : 0);
    size_t size = head.count * each + head.name_length + head.position_length + head.origin_length + bytes;
    char *body = malloc(size);
    if (!body) end_process("out of memory");
    int32_t answer = PENSTOCK_FAILED;
    if (write_body(body, size, offer, name, head)) {
        uint64_t cost = PLUGIN_OFFER_COST + (uint64_t)head.count * PLUGIN_OFFER_EVENT_COST + bytes;
        answer = send_offer(offer->token, head, body, size, cost, problem);
    } else {
        *problem = "the offer changed while the host read it";
    }
    free(body);
    return answer;
}

static int32_t offer_events(const penstock_host *host, const penstock_offer *offer, char *text, size_t text_size) {
    (void)host;
    const char *problem = "set the offer's struct_size to its size";
    int32_t answer = PENSTOCK_FAILED;
    if (offer && offer->struct_size >= PLUGIN_OFFER_SIZE_1_1) {
        const penstock_offer copy = *offer;
        answer = copy_and_send(&copy, &problem);
    }
    if (problem && text && text_size > 0) snprintf(text, text_size, "%s", problem);
    return answer;
}

static void send_lane(uint32_t type, penstock_string lane) {
    char name[PLUGIN_LANE_LIMIT];
    /* It is shown to the operator, no more: a wrong name is left out. */
    if (copy_name(lane, name)) send_message(type, 0, &(struct iovec){name, lane.length}, 1);
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
    if (!copy_name(lane, name)) end_process("lane_until: the lane's name is not valid");
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
