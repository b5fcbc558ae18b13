#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/falloc.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef SO_COOKIE
#define SO_COOKIE 57
#endif
#ifndef SO_PEEK_OFF
#define SO_PEEK_OFF 42
#endif

int clinux_socket_pair(int *first, int *second) {
    int pair[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) != 0) return -1;
    *first = pair[0];
    *second = pair[1];
    return 0;
}

int clinux_send_buffer(int socket, int size) {
    return setsockopt(socket, SOL_SOCKET, SO_SNDBUF, &size, sizeof size);
}

union control {
    struct cmsghdr header;
    char space[CMSG_SPACE(CLINUX_FILES_MOST * sizeof(int))];
};

int clinux_send_files(int socket, const int *files, int count) {
    if (count < 1 || count > CLINUX_FILES_MOST) return EINVAL;
    char byte = 0;
    struct iovec piece = {&byte, 1};
    union control control;
    memset(&control, 0, sizeof control);
    control.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN((size_t)count * sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    memcpy(CMSG_DATA(&control.header), files, (size_t)count * sizeof(int));
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control,
        .msg_controllen = CMSG_SPACE((size_t)count * sizeof(int))};
    while (sendmsg(socket, &message, MSG_NOSIGNAL | MSG_DONTWAIT) < 0) {
        if (errno != EINTR) return errno;
    }
    return 0;
}

int clinux_accept_into(int listener, int queue, int *is_in) {
    char byte = 0;
    struct iovec piece = {&byte, 1};
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } one;
    memset(&one, 0, sizeof one);
    one.header = (struct cmsghdr){
        .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
    int *file = (int *)CMSG_DATA(&one.header);
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &one, .msg_controllen = CMSG_SPACE(sizeof(int))};
    int client = *file = accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
    if (client >= 0) *is_in = sendmsg(queue, &message, MSG_NOSIGNAL | MSG_DONTWAIT) == 1;
    return client;
}

int clinux_receive_files(int socket, int *files, int peeks) {
    char byte;
    struct iovec piece = {&byte, 1};
    union control control;
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};
    ssize_t got;
    do {
        got = recvmsg(socket, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC | (peeks ? MSG_PEEK : 0));
    } while (got < 0 && errno == EINTR);
    if (got <= 0) return -1;
    int count = 0;
    for (struct cmsghdr *header = CMSG_FIRSTHDR(&message); header; header = CMSG_NXTHDR(&message, header)) {
        if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
        size_t bytes = header->cmsg_len - CMSG_LEN(0);
        memcpy(files + count, CMSG_DATA(header), bytes);
        count += (int)(bytes / sizeof(int));
    }
    return count;
}

uint64_t clinux_cookie(int socket) {
    uint64_t cookie = 0;
    socklen_t size = sizeof cookie;
    return getsockopt(socket, SOL_SOCKET, SO_COOKIE, &cookie, &size) == 0 ? cookie : 0;
}

int clinux_peek_offset(int socket) {
    int offset = -1;
    socklen_t size = sizeof offset;
    return getsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &offset, &size) == 0 ? offset : -1;
}

int clinux_set_peek_offset(int socket, int offset) {
    return setsockopt(socket, SOL_SOCKET, SO_PEEK_OFF, &offset, sizeof offset);
}

static const int kept_seals = F_SEAL_SHRINK | F_SEAL_GROW;

int clinux_kept_file(size_t size) {
    int file = memfd_create("penstock-clients", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file < 0) return -1;
    if (ftruncate(file, (off_t)size) == 0 && fcntl(file, F_ADD_SEALS, kept_seals) == 0) return file;
    int error = errno;
    close(file);
    errno = error;
    return -1;
}

void *clinux_map_kept(int file, size_t size) {
    struct stat status;
    if (fstat(file, &status) != 0) return NULL;
    int seals = fcntl(file, F_GET_SEALS);
    if (seals < 0 || (seals & kept_seals) != kept_seals || status.st_size != (off_t)size) {
        errno = EINVAL;
        return NULL;
    }
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_NORESERVE, file, 0);
    if (memory == MAP_FAILED) return NULL;
    madvise(memory, size, MADV_DONTDUMP);
    return memory;
}

void clinux_forget_kept(int file, int64_t place, int64_t count) {
    fallocate(file, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, place, count);
}
