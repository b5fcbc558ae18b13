/* Accepts a client and sends its socket on, so that no kill comes between the two.
 *
 * A process that is killed between two system calls is gone, and with it the client's socket that it has just
 * accepted. So the kernel carries out both as linked requests of io_uring(7): what is left of a chain is done before a
 * thread dies of a signal (it is task work, which the kernel's get_signal() runs first).
 *
 * The second request needs the number of the socket, which the first one yields. Its control message (cmsg(3))
 * therefore lies across two completions, where the kernel writes that number:
 *
 *     a completion that was taken   user_data | result: the message's length, flags: 0
 *     the completion of the accept  user_data: SOL_SOCKET, SCM_RIGHTS | result: the socket, flags: padding
 *
 * A round has two completions of a ring with an even number, and begins at an odd one, so both always lie side by
 * side. Tests/CrashTests/accept_kills.c counts what is lost with and without it.
 */
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <linux/io_uring.h>
#include <poll.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Linux 6.10: an accept that finds no client is done, as O_NONBLOCK asks. Before, it waits for the next one. */
#ifndef IORING_ACCEPT_DONTWAIT
#define IORING_ACCEPT_DONTWAIT (1U << 1)
#endif

enum { ROUND = 2 };

struct clinux_accept_ring {
    int ring;
    struct io_uring_sqe *requests;
    unsigned *requests_end, *order;
    unsigned requests_mask;
    struct io_uring_cqe *completions;
    unsigned *completions_start, *completions_end;
    unsigned completions_mask;
    /* Whether it knows IORING_ACCEPT_DONTWAIT. */
    int knows_dont_wait;
    void *maps[3];
    size_t sizes[3];
};

_Static_assert(sizeof(struct io_uring_cqe) == 16 && CMSG_SPACE(sizeof(int)) == 24 && CMSG_LEN(sizeof(int)) == 20
        && offsetof(struct cmsghdr, cmsg_level) == 8 && sizeof(size_t) == 8,
    "the control message has another layout");

static void *map(struct clinux_accept_ring *it, int number, size_t size, off_t place) {
    void *bytes = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, it->ring, place);
    if (bytes == MAP_FAILED) return NULL;
    it->maps[number] = bytes;
    it->sizes[number] = size;
    return bytes;
}

static int open_ring(struct clinux_accept_ring *it) {
    struct io_uring_params facts = {0};
    it->ring = (int)syscall(SYS_io_uring_setup, 2 * ROUND, &facts);
    if (it->ring < 0) return 0;
    /* Before Linux 5.12, threads with another identity carried out some requests; before 5.5, there was no accept. */
    if (!(facts.features & IORING_FEAT_NATIVE_WORKERS)) return 0;
    char *requests = map(it, 0, facts.sq_off.array + facts.sq_entries * sizeof(unsigned), IORING_OFF_SQ_RING);
    const size_t size = facts.cq_off.cqes + facts.cq_entries * sizeof *it->completions;
    char *completions = map(it, 1, size, IORING_OFF_CQ_RING);
    it->requests = map(it, 2, facts.sq_entries * sizeof *it->requests, IORING_OFF_SQES);
    if (!requests || !completions || !it->requests || facts.cq_entries % ROUND != 0) return 0;
    it->requests_end = (unsigned *)(requests + facts.sq_off.tail);
    it->requests_mask = facts.sq_entries - 1;
    it->order = (unsigned *)(requests + facts.sq_off.array);
    it->completions = (struct io_uring_cqe *)(completions + facts.cq_off.cqes);
    it->completions_start = (unsigned *)(completions + facts.cq_off.head);
    it->completions_end = (unsigned *)(completions + facts.cq_off.tail);
    it->completions_mask = facts.cq_entries - 1;
    return 1;
}

/* Submits the first requests, and waits for as many completions. Returns 0, or an errno: the ring is of no use then. */
static int perform(struct clinux_accept_ring *it, unsigned count) {
    const unsigned start = *it->completions_start;
    const unsigned end = *it->requests_end;
    for (unsigned i = 0; i < count; i++) it->order[(end + i) & it->requests_mask] = i;
    __atomic_store_n(it->requests_end, end + count, __ATOMIC_RELEASE);
    unsigned left = count;
    while (__atomic_load_n(it->completions_end, __ATOMIC_ACQUIRE) - start < count) {
        long taken = syscall(SYS_io_uring_enter, it->ring, left, count, IORING_ENTER_GETEVENTS, NULL, 0);
        if (taken < 0 && errno != EINTR) return errno;
        if (taken > 0) left -= (unsigned)taken;
    }
    return 0;
}

static void take(struct clinux_accept_ring *it, unsigned count) {
    __atomic_store_n(it->completions_start, *it->completions_start + count, __ATOMIC_RELEASE);
}

struct clinux_accept_ring *clinux_accept_ring_open(void) {
    struct clinux_accept_ring *it = calloc(1, sizeof *it);
    if (!it) return NULL;
    if (open_ring(it)) {
        /* Fails in any case. The first round begins at an odd completion. */
        it->requests[0] = (struct io_uring_sqe){.opcode = IORING_OP_ACCEPT, .fd = -1, .ioprio = IORING_ACCEPT_DONTWAIT};
        if (perform(it, 1) == 0) {
            it->knows_dont_wait = it->completions[0].res != -EINVAL;
            take(it, 1);
            return it;
        }
    }
    clinux_accept_ring_close(it);
    return NULL;
}

void clinux_accept_ring_close(struct clinux_accept_ring *it) {
    for (int i = 0; i < 3; i++) {
        if (it->maps[i]) munmap(it->maps[i], it->sizes[i]);
    }
    if (it->ring >= 0) close(it->ring);
    free(it);
}

int clinux_accept_linked(struct clinux_accept_ring *it, int listener, int queue, int *is_in) {
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    if (!it->knows_dont_wait && poll(&waiting, 1, 0) == 0) {
        *is_in = 0;
        errno = EAGAIN;
        return -1;
    }
    const unsigned start = *it->completions_start & it->completions_mask;
    struct io_uring_cqe *accepted = &it->completions[start], *taken = accepted - 1;
    taken->res = CMSG_LEN(sizeof(int));
    taken->flags = 0;
    const int kind[2] = {SOL_SOCKET, SCM_RIGHTS};
    char byte = 0;
    struct iovec piece = {&byte, 1};
    struct msghdr message = {
        .msg_iov = &piece, .msg_iovlen = 1, .msg_control = &taken->res, .msg_controllen = CMSG_SPACE(sizeof(int))};
    it->requests[0] = (struct io_uring_sqe){.opcode = IORING_OP_ACCEPT, .flags = IOSQE_IO_LINK, .fd = listener,
        .ioprio = it->knows_dont_wait ? IORING_ACCEPT_DONTWAIT : 0, .accept_flags = SOCK_NONBLOCK | SOCK_CLOEXEC};
    memcpy(&it->requests[0].user_data, kind, sizeof kind);
    it->requests[1] = (struct io_uring_sqe){.opcode = IORING_OP_SENDMSG, .fd = queue, .addr = (uintptr_t)&message,
        .len = 1, .msg_flags = MSG_NOSIGNAL | MSG_DONTWAIT};
    int error = perform(it, ROUND);
    if (error != 0) {
        errno = error;
        return CLINUX_RING_BROKEN;
    }
    const int client = accepted->res;
    *is_in = client >= 0 && it->completions[(start + 1) & it->completions_mask].res == 1;
    take(it, ROUND);
    if (client >= 0) return client;
    errno = -client;
    return -1;
}
