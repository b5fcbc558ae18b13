/* penstock-plugin-host: the process of one plugin: of a destination with `isolation: process`, or of a source.
 *
 * The daemon starts it with three descriptors: a socket to read from (3), the plugin's file, which the daemon has
 * checked (4), and a pipe to write to (5). It loads the file and calls the plugin's functions as the daemon asks, one at
 * a time, on the main thread, which may block. Batches lie in memory that the daemon shares and that this process can
 * only read. What the plugin calls (services.c) becomes a message to the daemon, from any thread.
 *
 * A plugin that crashes ends this process, and the daemon sees the socket close. When the daemon ends, this process
 * ends at once, too. It never reads a file, a configuration or the environment by itself.
 */
#include "channel.h"
#include "confine.h"
#include "needs.h"
#include "penstock_plugin.h"
#include "plugin_channel.h"
#include "reply.h"
#include "services.h"
#include "source.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static penstock_plugin_entry_function entry;
/* A copy of the plugin's table; what an older plugin does not have is 0. */
static penstock_plugin plugin;
static penstock_instance instance;
static const penstock_position *position;

/* The batches that the plugin may hold, by slot. */
static struct {
    const void *memory;
    size_t size;
    penstock_batch batch;
} slots[PLUGIN_CHANNEL_SLOTS];

static const char *text_or_empty(const char *text) { return text ? text : ""; }

/* The version and the sizes are compared here, before any other field is read; the daemon judges the rest. */
static void load(void) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/fd/%d", PLUGIN_CHANNEL_LIBRARY);
    void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    if (!library) {
        reply_error(PLUGIN_NOT_LOADABLE, text_or_empty(dlerror()));
        return;
    }
    close(PLUGIN_CHANNEL_LIBRARY);
    void *symbol = dlsym(library, "penstock_plugin_entry");
    if (!symbol) {
        reply_error(PLUGIN_NOT_LOADABLE, "it does not export penstock_plugin_entry (see penstock_plugin.h)");
        return;
    }
    memcpy(&entry, &symbol, sizeof entry);
    const penstock_plugin *found = entry(PENSTOCK_PLUGIN_MAJOR, PENSTOCK_PLUGIN_MINOR);
    if (!found) {
        reply_error(PLUGIN_INCOMPATIBLE, "");
        return;
    }
    uint64_t values[4] = {found->abi_major, found->abi_minor, 0, found->struct_size};
    if (found->abi_major == PENSTOCK_PLUGIN_MAJOR && found->struct_size >= PLUGIN_SIZE_1_0) {
        memcpy(&plugin, found, found->struct_size < sizeof plugin ? found->struct_size : sizeof plugin);
    }
    /* Half of a pointer is none. */
    if (found->struct_size < PLUGIN_SIZE_1_1) plugin.extension = NULL;
    const penstock_source *its_source = plugin.extension ? plugin.extension(PENSTOCK_SOURCE) : NULL;
    if (!plugin.name || !plugin.version || !plugin.summary || (!plugin.create && !its_source)) {
        reply(PLUGIN_INCOMPATIBLE, values, "", 0);
        return;
    }
    if (its_source) values[2] |= set_source(its_source) ? PLUGIN_IS_SOURCE : PLUGIN_SOURCE_INVALID;
    values[2] |= (plugin.create ? PLUGIN_IS_SINK : 0) | (plugin.settings_schema ? PLUGIN_HAS_SCHEMA : 0)
        | (plugin.needs ? PLUGIN_HAS_NEEDS : 0) | (source.settings_schema ? PLUGIN_SOURCE_HAS_SCHEMA : 0)
        | (source.needs ? PLUGIN_SOURCE_HAS_NEEDS : 0);
    const char *texts[] = {plugin.name, plugin.version, plugin.summary, text_or_empty(plugin.settings_schema),
        text_or_empty(plugin.needs), text_or_empty(source.settings_schema), text_or_empty(source.needs)};
    const size_t limits[] = {64, 64, 256, 1 << 20, 4096, 1 << 20, 4096};
    char *all = malloc(PLUGIN_CHANNEL_DESCRIPTION_LIMIT), *next = all;
    if (!all) end_process("out of memory");
    for (int i = 0; i < 7; i++) {
        size_t length = strnlen(texts[i], limits[i]);
        memcpy(next, texts[i], length);
        next[length] = 0;
        next += length + 1;
    }
    reply(PENSTOCK_OK, values, all, (size_t)(next - all));
    free(all);
}

/* The entry function is pure: it gives the same answer each time, and only a major version it knows gets a table. */
static void probe(void) {
    const penstock_plugin *again = entry ? entry(PENSTOCK_PLUGIN_MAJOR, PENSTOCK_PLUGIN_MINOR) : NULL;
    if (!again) {
        reply_error(PENSTOCK_FAILED, "its second call returned NULL");
    } else if (entry(PENSTOCK_PLUGIN_MAJOR, PENSTOCK_PLUGIN_MINOR) != again) {
        reply_error(PENSTOCK_FAILED, "it returns another table at each call");
    } else if (!entry(PENSTOCK_PLUGIN_MAJOR, PENSTOCK_PLUGIN_MINOR + 1)) {
        reply_error(PENSTOCK_FAILED, "it declines a host with a later minor version, which is compatible");
    } else if (entry(PENSTOCK_PLUGIN_MAJOR + 1, 0)) {
        reply_error(PENSTOCK_FAILED, "it accepts a host with another major version");
    } else {
        reply_error(PENSTOCK_OK, "");
    }
}

static void create(const char *body, size_t size) {
    plugin_create sizes;
    if (size < sizeof sizes) end_process("a short create message");
    memcpy(&sizes, body, sizeof sizes);
    const char *destination = body + sizeof sizes, *journal = destination + sizes.destination_size;
    const char *settings = journal + sizes.journal_size, *paths = settings + sizes.settings_size;
    if (sizes.destination_size == 0 || sizes.journal_size == 0 || sizes.settings_size == 0
        || size != sizeof sizes + (size_t)sizes.destination_size + sizes.journal_size + sizes.settings_size
                + sizes.paths_size
        || journal[-1] || settings[-1] || paths[-1] || body[size - 1]) {
        end_process("a wrong create message");
    }
    if (!plugin.create) end_process("create before load");
    /* The host's table and its texts outlive the instance. */
    const char *names[] = {strdup(destination), strdup(journal)};
    if (!names[0] || !names[1]) end_process("out of memory");
    const penstock_host *host = make_host(names[0], names[1], sizes.log_level);
    confine_to(plugin.needs, paths, sizes.paths_size);
    memset(&instance, 0, sizeof instance);
    instance.struct_size = sizeof instance;
    int32_t status = plugin.create(host, settings, &instance, error, sizeof error);
    if (status != PENSTOCK_OK) {
        reply_status(PENSTOCK_FAILED);
        return;
    }
    if (!instance.deliver || !instance.stop || !instance.destroy) {
        reply_error(PLUGIN_INCOMPATIBLE, "");
        return;
    }
    if (instance.extension) position = instance.extension(instance.context, PENSTOCK_POSITION);
    if (position && (position->struct_size < PLUGIN_POSITION_SIZE_1_0 || !position->durable)) {
        reply_error(PLUGIN_INCOMPATIBLE, "position");
        return;
    }
    const uint64_t values[4] = {
        instance.max_in_flight, instance.max_batch_events, instance.max_batch_bytes, position != NULL};
    reply(PENSTOCK_OK, values, "", 0);
}

static void map(const char *body, size_t size, int descriptor) {
    plugin_map request;
    if (size != sizeof request || descriptor < 0) end_process("a wrong map message");
    memcpy(&request, body, sizeof request);
    if (request.slot >= PLUGIN_CHANNEL_SLOTS) end_process("a slot that does not exist");
    if (slots[request.slot].memory) munmap((void *)(uintptr_t)slots[request.slot].memory, slots[request.slot].size);
    void *memory = mmap(NULL, request.size, PROT_READ, MAP_SHARED, descriptor, 0);
    close(descriptor);
    if (memory == MAP_FAILED) {
        slots[request.slot].memory = NULL;
        reply_error(PENSTOCK_FAILED, "cannot map memory");
        return;
    }
    slots[request.slot].memory = memory;
    slots[request.slot].size = request.size;
    const uint64_t values[4] = {(uint64_t)(uintptr_t)memory};
    reply(PENSTOCK_OK, values, "", 0);
}

static void deliver(uint64_t token, const char *body, size_t size) {
    plugin_deliver request;
    if (size != sizeof request || !instance.deliver) end_process("a wrong deliver message");
    memcpy(&request, body, sizeof request);
    if (request.slot >= PLUGIN_CHANNEL_SLOTS || !slots[request.slot].memory
        || request.stride < sizeof(penstock_event) || request.count > slots[request.slot].size / request.stride) {
        end_process("a batch outside of its slot");
    }
    penstock_batch *batch = &slots[request.slot].batch;
    *batch = (penstock_batch){
        .struct_size = sizeof *batch, .count = request.count, .token = token, .deadline_ns = request.deadline_ns,
        .first_position = request.first_position, .last_position = request.last_position,
        .events = slots[request.slot].memory, .event_stride = request.stride, .flags = request.flags};
    expect_outcomes(token, request.count);
    int32_t status = instance.deliver(instance.context, batch, error, sizeof error);
    if (status != PENSTOCK_OK) expect_no_outcomes(token);
    reply_status(status);
}

static void durable(void) {
    uint64_t value = 0;
    if (!position) {
        reply_error(PENSTOCK_NONE, "");
        return;
    }
    int32_t status = position->durable(instance.context, &value, error, sizeof error);
    error[sizeof error - 1] = 0;
    const uint64_t values[4] = {value};
    reply(status, values, error, strlen(error));
}

static void serve(const plugin_header *header, const char *body, int descriptor) {
    error[0] = 0;
    switch (header->type) {
    case PLUGIN_LOAD: load(); break;
    case PLUGIN_PROBE: probe(); break;
    case PLUGIN_CREATE: create(body, header->length); break;
    case PLUGIN_SOURCE_CREATE: create_source(body, header->length); break;
    case PLUGIN_START: start_source(body, header->length); break;
    case PLUGIN_STORED: report_stored(body, header->length); break;
    case PLUGIN_CONNECT:
        if (has_source_instance()) {
            connect_source();
            break;
        }
        reply_status(instance.connect ? instance.connect(instance.context, error, sizeof error) : PENSTOCK_OK);
        break;
    case PLUGIN_MAP: map(body, header->length, descriptor); break;
    case PLUGIN_DELIVER: deliver(header->token, body, header->length); break;
    case PLUGIN_FLUSH:
        reply_status(instance.flush ? instance.flush(instance.context, error, sizeof error) : PENSTOCK_OK);
        break;
    case PLUGIN_DURABLE: durable(); break;
    case PLUGIN_STOP:
        if (has_source_instance()) {
            stop_source();
            break;
        }
        if (instance.stop) instance.stop(instance.context);
        reply_status(PENSTOCK_OK);
        break;
    case PLUGIN_DESTROY:
        if (has_source_instance()) {
            destroy_source();
            break;
        }
        if (instance.destroy) instance.destroy(instance.context);
        memset(&instance, 0, sizeof instance);
        reply_status(PENSTOCK_OK);
        break;
    default: end_process("a request that does not exist");
    }
}

int main(void) {
    confine();
    watch_daemon();
    while (1) {
        plugin_header header;
        int descriptor = -1;
        receive(&header, sizeof header, &descriptor);
        if (header.length > PLUGIN_CHANNEL_LIMIT) end_process("a message that is too long");
        char *body = malloc(header.length + 1);
        if (!body) end_process("out of memory");
        receive(body, header.length, NULL);
        serve(&header, body, descriptor);
        free(body);
    }
}
