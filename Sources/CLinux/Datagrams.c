#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    MOST = 64,
    /* For the credentials and some messages that the daemon does not ask for. A message that does not fit is cut off,
     * and the kernel then opens none of its further descriptors. */
    CONTROL_SPACE = 256
};

int clinux_unix_datagram_socket(void) { return socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0); }

int clinux_pass_credentials(int file) {
    int on = 1;
    return setsockopt(file, SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

/* Takes the sender's credentials from a message, and closes the descriptors that came with it. */
static void read_control(struct msghdr *message, struct clinux_datagram *datagram) {
    for (struct cmsghdr *part = CMSG_FIRSTHDR(message); part != NULL; part = CMSG_NXTHDR(message, part)) {
        if (part->cmsg_level != SOL_SOCKET) continue;
        if (part->cmsg_type == SCM_CREDENTIALS && part->cmsg_len >= CMSG_LEN(sizeof(struct ucred))) {
            struct ucred sender;
            memcpy(&sender, CMSG_DATA(part), sizeof sender);
            datagram->sender = (struct clinux_peer){.pid = sender.pid, .uid = sender.uid, .gid = sender.gid};
            datagram->has_sender = 1;
        } else if (part->cmsg_type == SCM_RIGHTS) {
            size_t count = (part->cmsg_len - CMSG_LEN(0)) / sizeof(int);
            for (size_t i = 0; i < count; i++) {
                int file;
                memcpy(&file, CMSG_DATA(part) + i * sizeof file, sizeof file);
                close(file);
            }
        }
    }
}

int clinux_receive_datagrams(int file, void *buffer, size_t slot, int count, struct clinux_datagram *received) {
    _Alignas(struct cmsghdr) char control[MOST][CONTROL_SPACE];
    struct mmsghdr messages[MOST];
    struct iovec places[MOST];
    if (count > MOST) count = MOST;
    memset(messages, 0, sizeof messages[0] * (size_t)count);
    for (int i = 0; i < count; i++) {
        places[i] = (struct iovec){(char *)buffer + (size_t)i * slot, slot};
        messages[i].msg_hdr = (struct msghdr){
            .msg_iov = &places[i], .msg_iovlen = 1, .msg_control = control[i], .msg_controllen = CONTROL_SPACE};
    }
    int found;
    do {
        found = recvmmsg(file, messages, (unsigned)count, MSG_DONTWAIT | MSG_TRUNC | MSG_CMSG_CLOEXEC, NULL);
    } while (found < 0 && errno == EINTR);
    for (int i = 0; i < found; i++) {
        received[i] = (struct clinux_datagram){.length = messages[i].msg_len};
        read_control(&messages[i].msg_hdr, &received[i]);
    }
    return found;
}
