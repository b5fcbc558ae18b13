#include "reply.h"

#include "channel.h"

#include <string.h>

char error[PLUGIN_CHANNEL_ERROR_LIMIT];

void reply(int32_t status, const uint64_t values[4], const char *text, size_t length) {
    plugin_reply head = {.status = status, .text_length = (uint32_t)length};
    if (values) memcpy(head.values, values, sizeof head.values);
    struct iovec pieces[] = {{&head, sizeof head}, {(void *)(uintptr_t)text, length}};
    send_message(PLUGIN_REPLY, 0, pieces, 2);
}

void reply_status(int32_t status) {
    error[sizeof error - 1] = 0;
    reply(status, NULL, error, strlen(error));
}

void reply_error(int32_t status, const char *text) { reply(status, NULL, text, strlen(text)); }
