#define _GNU_SOURCE
#include "CLinux.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static const uint8_t mapped[12] = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};

static int is_mapped(const uint8_t *bytes) { return memcmp(bytes, mapped, sizeof mapped) == 0; }

int clinux_parse_address(const char *text, uint8_t *bytes) {
    struct in_addr four;
    if (inet_pton(AF_INET, text, &four) == 1) {
        memcpy(bytes, mapped, sizeof mapped);
        memcpy(bytes + 12, &four, sizeof four);
        return 0;
    }
    return inet_pton(AF_INET6, text, bytes) == 1 ? 0 : -1;
}

void clinux_format_address(const uint8_t *bytes, char *text) {
    const char *done = is_mapped(bytes) ? inet_ntop(AF_INET, bytes + 12, text, CLINUX_ADDRESS_TEXT)
                                        : inet_ntop(AF_INET6, bytes, text, CLINUX_ADDRESS_TEXT);
    if (done == NULL) text[0] = 0;
}

/* The address of either family, of which one is in use. */
union address {
    struct sockaddr any;
    struct sockaddr_in four;
    struct sockaddr_in6 six;
};

int clinux_tcp_listener(const uint8_t *bytes, uint16_t *port, int backlog, const char **call) {
    union address address;
    memset(&address, 0, sizeof address);
    socklen_t size;
    if (is_mapped(bytes)) {
        address.four.sin_family = AF_INET;
        address.four.sin_port = htons(*port);
        memcpy(&address.four.sin_addr, bytes + 12, 4);
        size = sizeof address.four;
    } else {
        address.six.sin6_family = AF_INET6;
        address.six.sin6_port = htons(*port);
        memcpy(&address.six.sin6_addr, bytes, 16);
        size = sizeof address.six;
    }
    *call = "socket";
    int listener = socket(address.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (listener < 0) return -1;
    const int on = 1;
    *call = "setsockopt";
    if (setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) != 0) goto failed;
    if (address.any.sa_family == AF_INET6
        && setsockopt(listener, IPPROTO_IPV6, IPV6_V6ONLY, &on, sizeof on) != 0)
        goto failed;
    *call = "bind";
    if (bind(listener, &address.any, size) != 0) goto failed;
    *call = "listen";
    if (listen(listener, backlog) != 0) goto failed;
    *call = "getsockname";
    size = sizeof address;
    if (getsockname(listener, &address.any, &size) != 0) goto failed;
    *port = ntohs(address.any.sa_family == AF_INET ? address.four.sin_port : address.six.sin6_port);
    return listener;

failed:;
    int error = errno;
    close(listener);
    errno = error;
    return -1;
}

static int copy_address(const union address *address, uint8_t *bytes, uint16_t *port) {
    if (address->any.sa_family == AF_INET) {
        memcpy(bytes, mapped, sizeof mapped);
        memcpy(bytes + 12, &address->four.sin_addr, 4);
        *port = ntohs(address->four.sin_port);
    } else if (address->any.sa_family == AF_INET6) {
        memcpy(bytes, &address->six.sin6_addr, 16);
        *port = ntohs(address->six.sin6_port);
    } else {
        errno = EAFNOSUPPORT;
        return -1;
    }
    return 0;
}

int clinux_peer_address(int file, uint8_t *bytes, uint16_t *port) {
    union address address;
    memset(&address, 0, sizeof address);
    socklen_t size = sizeof address;
    return getpeername(file, &address.any, &size) == 0 ? copy_address(&address, bytes, port) : -1;
}

int clinux_local_address(int file, uint8_t *bytes, uint16_t *port) {
    union address address;
    memset(&address, 0, sizeof address);
    socklen_t size = sizeof address;
    return getsockname(file, &address.any, &size) == 0 ? copy_address(&address, bytes, port) : -1;
}

int clinux_no_delay(int file) {
    const int on = 1;
    return setsockopt(file, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}
