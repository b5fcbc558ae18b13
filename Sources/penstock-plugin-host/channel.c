#include "channel.h"

#include "plugin_channel.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static pthread_mutex_t sending = PTHREAD_MUTEX_INITIALIZER;

void end_process(const char *reason) {
    if (reason) dprintf(STDERR_FILENO, "penstock-plugin-host: %s\n", reason);
    _exit(reason ? 70 : 0); /* EX_SOFTWARE */
}

void send_message(uint32_t type, uint64_t token, const struct iovec *pieces, int count) {
    struct iovec all[8];
    plugin_header header = {.type = type, .token = token};
    if (count < 0 || count > 7) end_process("a message has too many parts");
    for (int i = 0; i < count; i++) {
        all[i + 1] = pieces[i];
        header.length += (uint32_t)pieces[i].iov_len;
    }
    all[0] = (struct iovec){&header, sizeof header};
    struct iovec *left = all;
    count++;
    pthread_mutex_lock(&sending);
    while (count > 0) {
        ssize_t sent = writev(PLUGIN_CHANNEL_MESSAGES, left, count);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) end_process(errno == EPIPE ? NULL : "cannot write to the daemon");
        while (count > 0 && (size_t)sent >= left->iov_len) {
            sent -= (ssize_t)left->iov_len;
            left++;
            count--;
        }
        if (count > 0) {
            left->iov_base = (char *)left->iov_base + sent;
            left->iov_len -= (size_t)sent;
        }
    }
    pthread_mutex_unlock(&sending);
}

void receive(void *bytes, size_t size, int *descriptor) {
    size_t place = 0;
    while (place < size) {
        union {
            struct cmsghdr header;
            char space[CMSG_SPACE(sizeof(int))];
        } control;
        struct iovec piece = {(char *)bytes + place, size - place};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
        if (descriptor) {
            message.msg_control = &control;
            message.msg_controllen = sizeof control;
        }
        ssize_t got = recvmsg(PLUGIN_CHANNEL_SOCKET, &message, MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR) continue;
        if (got == 0) end_process(NULL);
        if (got < 0) end_process(errno == ECONNRESET ? NULL : "cannot read from the daemon");
        place += (size_t)got;
        if (!descriptor) continue;
        struct cmsghdr *found = CMSG_FIRSTHDR(&message);
        if (found && found->cmsg_level == SOL_SOCKET && found->cmsg_type == SCM_RIGHTS) {
            memcpy(descriptor, CMSG_DATA(found), sizeof(int));
        }
    }
}

static void *watch(void *nothing) {
    (void)nothing;
    struct pollfd socket = {.fd = PLUGIN_CHANNEL_SOCKET, .events = POLLRDHUP};
    /* Bytes to read do not wake it; only the end of the connection does, or a plugin that closed the descriptor. */
    while (poll(&socket, 1, -1) < 0 && errno == EINTR) {}
    if (socket.revents & POLLNVAL) end_process("the plugin closed the socket to the daemon");
    end_process(NULL);
}

void watch_daemon(void) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, 64 << 10);
    if (pthread_create(&thread, &attributes, watch, NULL) != 0) end_process("cannot start a thread");
    pthread_attr_destroy(&attributes);
}
