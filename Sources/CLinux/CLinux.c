#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <unistd.h>

int clinux_name_thread(const char *name) { return pthread_setname_np(pthread_self(), name); }

int clinux_unix_stream_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

int clinux_send_timeout(int socket, int64_t microseconds) {
    struct timeval limit = {.tv_sec = microseconds / 1000000, .tv_usec = microseconds % 1000000};
    return setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
}

int clinux_o_direct(void) { return O_DIRECT; }

void *clinux_secret_pages(size_t count) {
    void *pages = mmap(NULL, count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (pages == MAP_FAILED) return NULL;
    if (madvise(pages, count, MADV_DONTDUMP) == 0) return pages;
    munmap(pages, count);
    return NULL;
}

void clinux_forget_secret(void *pages, size_t count) {
    explicit_bzero(pages, count);
    munmap(pages, count);
}

size_t clinux_cached(int file, off_t offset, size_t count) {
    unsigned char pages[1025];
    size_t size = (size_t)sysconf(_SC_PAGESIZE), before = (size_t)offset % size;
    if (count > (sizeof pages - 1) * size) count = (sizeof pages - 1) * size;
    if (count == 0) return 0;
    /* The mapping is only inspected, never read: reading a page that fails to load would raise a signal. */
    void *map = mmap(NULL, before + count, PROT_NONE, MAP_SHARED, file, offset - (off_t)before);
    if (map == MAP_FAILED) return 0;
    size_t whole = (before + count + size - 1) / size, there = 0;
    if (mincore(map, before + count, pages) == 0)
        while (there < whole && (pages[there] & 1) != 0) there++;
    munmap(map, before + count);
    if (there == 0) return 0;
    size_t bytes = there * size - before;
    return bytes < count ? bytes : count;
}

/* Nanoseconds since 1970. A time that does not fit saturates: a file's time may be in any year. */
static int64_t nanoseconds(struct statx_timestamp time) {
    int64_t sum;
    if (__builtin_mul_overflow(time.tv_sec, INT64_C(1000000000), &sum) || __builtin_add_overflow(sum, (int64_t)time.tv_nsec, &sum))
        return time.tv_sec < 0 ? INT64_MIN : INT64_MAX;
    return sum;
}

int clinux_status(int file, const char *path, struct clinux_status *status) {
    struct statx found;
    const char *name = path != NULL ? path : "";
    if (statx(path != NULL ? AT_FDCWD : file, name, path != NULL ? 0 : AT_EMPTY_PATH,
              STATX_TYPE | STATX_SIZE | STATX_MTIME | STATX_INO | STATX_BTIME, &found) != 0)
        return -1;
    status->size = (int64_t)found.stx_size;
    status->modified = nanoseconds(found.stx_mtime);
    status->is_directory = S_ISDIR(found.stx_mode);
    status->device = makedev(found.stx_dev_major, found.stx_dev_minor);
    status->inode = found.stx_ino;
    /* Not every filesystem records the creation time. */
    status->born = (found.stx_mask & STATX_BTIME) != 0 ? nanoseconds(found.stx_btime) : 0;
    return 0;
}

int clinux_poll_make(void) { return epoll_create1(EPOLL_CLOEXEC); }

int clinux_poll_add(int poll, int file, uint64_t tag, int is_edge_triggered) {
    struct epoll_event event = {.events = EPOLLIN | EPOLLRDHUP, .data.u64 = tag};
    if (is_edge_triggered) event.events |= EPOLLOUT | EPOLLET;
    return epoll_ctl(poll, EPOLL_CTL_ADD, file, &event);
}

int clinux_poll_remove(int poll, int file) { return epoll_ctl(poll, EPOLL_CTL_DEL, file, NULL); }

int clinux_poll_wait(int poll, struct clinux_ready *ready, int capacity, int milliseconds) {
    struct epoll_event events[256];
    if (capacity > 256) capacity = 256;
    int count = epoll_wait(poll, events, capacity, milliseconds);
    for (int i = 0; i < count; i++) {
        uint32_t found = events[i].events;
        ready[i].tag = events[i].data.u64;
        ready[i].can_read = (found & (EPOLLIN | EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        ready[i].can_write = (found & EPOLLOUT) != 0;
        ready[i].has_ended = (found & (EPOLLRDHUP | EPOLLHUP | EPOLLERR)) != 0;
        ready[i].is_gone = (found & (EPOLLHUP | EPOLLERR)) != 0;
    }
    return count;
}

int clinux_bell(void) { return eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK); }

int clinux_accept(int listener) { return accept4(listener, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC); }

int clinux_peer(int file, struct clinux_peer *peer) {
    struct ucred found;
    socklen_t size = sizeof found;
    if (getsockopt(file, SOL_SOCKET, SO_PEERCRED, &found, &size) != 0) return -1;
    peer->pid = found.pid;
    peer->uid = found.uid;
    peer->gid = found.gid;
    return 0;
}

int clinux_peer_groups(int file, uint32_t *groups, int capacity) {
    socklen_t size = (socklen_t)capacity * sizeof *groups;
    if (getsockopt(file, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0) return -1;
    return (int)(size / sizeof *groups);
}

void clinux_trim(void) { malloc_trim(0); }
