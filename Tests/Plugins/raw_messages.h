/* Messages on the pipe to the daemon that the plugin host would not write (Sources/CPluginChannel), for plugins that test
 * what the daemon does then. */
#ifndef RAW_MESSAGES_H
#define RAW_MESSAGES_H

#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static void write_raw(const void *bytes, size_t size) {
    for (const char *next = bytes; size > 0;) {
        ssize_t done = write(5, next, size);
        if (done <= 0) pause();
        next += done;
        size -= (size_t)done;
    }
}

/* An offer of one event, of zeros: 30 bytes with a name of one byte, and those of the event. */
static void write_offer(uint32_t length, uint32_t count, const char *name, uint32_t event) {
    char *body = calloc(1, length);
    const uint32_t head[] = {count, (uint32_t)strlen(name), 0, 0, 0, 0, event};
    if (!body) abort();
    memcpy(body, head, length < sizeof head ? length : sizeof head);
    if (length > sizeof head) {
        memcpy(body + sizeof head, name, strlen(name));
        body[length - 1] = '\n';
    }
    const uint32_t header[] = {38, length, 1, 0};
    write_raw(header, sizeof header);
    write_raw(body, length);
    free(body);
}

#endif
