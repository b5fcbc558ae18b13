#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>

int clinux_name_thread(const char *name) { return pthread_setname_np(pthread_self(), name); }

int clinux_unix_stream_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

int clinux_o_direct(void) { return O_DIRECT; }

ssize_t clinux_read_cached(int file, void *bytes, size_t count, off_t offset) {
    struct iovec range = {bytes, count};
    return preadv2(file, &range, 1, offset, RWF_NOWAIT);
}
