#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/aio_abi.h>
#include <malloc.h>
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/eventfd.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <time.h>
#include <unistd.h>

int clinux_name_thread(const char *name) { return pthread_setname_np(pthread_self(), name); }

/* glibc has no wrapper, and <linux/sched/types.h> conflicts with its <sched.h>. The layout is that of
 * SCHED_ATTR_SIZE_VER0. */
struct attributes {
    uint32_t size, policy;
    uint64_t flags;
    int32_t nice;
    uint32_t priority;
    uint64_t runtime, deadline, period;
};

int clinux_time_slice(uint64_t nanoseconds) {
    struct attributes attributes = {.size = sizeof attributes};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return -1;
    attributes.size = sizeof attributes;
    attributes.runtime = nanoseconds;
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0 ? 0 : -1;
}

int clinux_lower_priority(int32_t steps) {
    struct attributes attributes = {.size = sizeof attributes};
    if (syscall(SYS_sched_getattr, 0, &attributes, sizeof attributes, 0) != 0) return -1;
    attributes.size = sizeof attributes;
    attributes.nice = attributes.nice + steps < 19 ? attributes.nice + steps : 19;
    return syscall(SYS_sched_setattr, 0, &attributes, 0) == 0 ? 0 : -1;
}

void clinux_timer_slack(unsigned long nanoseconds) { prctl(PR_SET_TIMERSLACK, nanoseconds, 0, 0, 0); }

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

int clinux_write_out(int file, off_t offset, off_t count) {
    const unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE | SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;
    if (sync_file_range(file, offset, count, all) == 0) return 0;
    /* Any other error may be that of an earlier write. */
    return errno == ENOSYS || errno == ESPIPE ? 1 : -1;
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
              STATX_TYPE | STATX_SIZE | STATX_INO | STATX_BTIME, &found) != 0)
        return -1;
    status->size = (int64_t)found.stx_size;
    status->is_directory = S_ISDIR(found.stx_mode);
    status->device = makedev(found.stx_dev_major, found.stx_dev_minor);
    status->inode = found.stx_ino;
    /* Not every filesystem records the creation time. */
    status->born = (found.stx_mask & STATX_BTIME) != 0 ? nanoseconds(found.stx_btime) : 0;
    return 0;
}

int clinux_modified(const char *path, int64_t *time) {
    struct statx found;
    if (statx(AT_FDCWD, path, 0, STATX_MTIME, &found) != 0) return -1;
    *time = nanoseconds(found.stx_mtime);
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

uint64_t clinux_begin_reads(unsigned most) {
    aio_context_t context = 0;
    return syscall(SYS_io_setup, most, &context) == 0 ? context : 0;
}

int clinux_start_read(uint64_t reads, uint64_t number, int file, void *memory, size_t count, int64_t offset) {
    struct iocb request = {.aio_data = number, .aio_lio_opcode = IOCB_CMD_PREAD, .aio_fildes = (uint32_t)file,
        .aio_buf = (uint64_t)(uintptr_t)memory, .aio_nbytes = count, .aio_offset = offset};
    struct iocb *requests[] = {&request};
    return syscall(SYS_io_submit, (aio_context_t)reads, 1L, requests) == 1 ? 0 : errno != 0 ? errno : EAGAIN;
}

uint64_t clinux_wait_read(uint64_t reads, int64_t *result) {
    struct io_event event;
    /* Nothing but a signal can interrupt it. */
    while (syscall(SYS_io_getevents, (aio_context_t)reads, 1L, 1L, &event, NULL) != 1) {}
    *result = event.res;
    return event.data;
}

void clinux_end_reads(uint64_t reads) { syscall(SYS_io_destroy, (aio_context_t)reads); }

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

int clinux_available(int file) {
    int count = 0;
    return ioctl(file, FIONREAD, &count) == 0 ? count : -1;
}

int clinux_peer_groups(int file, uint32_t *groups, int capacity) {
    socklen_t size = (socklen_t)capacity * sizeof *groups;
    if (getsockopt(file, SOL_SOCKET, SO_PEERGROUPS, groups, &size) != 0) return -1;
    return (int)(size / sizeof *groups);
}

void clinux_enter_background(void) {
    const struct sched_param lowest = {.sched_priority = 0};
    /* linux/ioprio.h is not everywhere: a process or thread, and the idle class above 13 bits of data. */
    enum { WHO_PROCESS = 1, CLASS_IDLE = 3 << 13 };
    (void)!setpriority(PRIO_PROCESS, 0, 19);
    (void)!sched_setscheduler(0, SCHED_IDLE, &lowest);
    (void)!syscall(SYS_ioprio_set, WHO_PROCESS, 0, CLASS_IDLE);
}

int clinux_idle_policy(void) { return SCHED_IDLE; }

int clinux_processors(void) {
    cpu_set_t set;
    CPU_ZERO(&set);
    // A machine with more processors than the set has bits for is an error.
    int count = sched_getaffinity(0, sizeof set, &set) == 0 ? CPU_COUNT(&set) : (int)sysconf(_SC_NPROCESSORS_ONLN);
    return count > 0 ? count : 1;
}

void clinux_trim(void) { malloc_trim(0); }

void clinux_bound_free_memory(void) {
    const int bytes = 1 << 20;
    mallopt(M_MMAP_THRESHOLD, bytes);
    mallopt(M_TRIM_THRESHOLD, bytes);
}

static void close_all(const int *files, int count) {
    for (int i = 0; i < count; i++) {
        if (files[i] >= 0) close(files[i]);
    }
}

int clinux_spawn(const char *program, const char *environment, int file, struct clinux_child *child) {
    enum { SOCKET, LIBRARY, MESSAGES, OUTPUT, ERRORS, COUNT, MESSAGES_SIZE = 512 << 10 };
    const int numbers[COUNT] = {3, 4, 5, 1, 2};
    int ours[COUNT] = {-1, -1, -1, -1, -1}, theirs[COUNT] = {-1, -1, -1, -1, -1}, error = 0;
    for (int i = 0; i < COUNT && error == 0; i++) {
        int pair[2] = {-1, -1};
        if (i == SOCKET && socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) error = errno;
        if (i >= MESSAGES && pipe2(pair, O_CLOEXEC) != 0) error = errno;
        /* The offers of a source are up to 256 KiB long: with room for two, reader and writer seldom wait for each other. A
         * user's pipes may have no more memory; then it stays as it is. */
        if (i == MESSAGES && error == 0) fcntl(pair[1], F_SETPIPE_SZ, MESSAGES_SIZE);
        if (i == LIBRARY) pair[1] = file;
        ours[i] = pair[0];
        if (i >= MESSAGES && error == 0 && fcntl(pair[0], F_SETFL, O_NONBLOCK) != 0) error = errno;
        /* Copies above the numbers that the child uses, so that no dup2 there closes a source. */
        if (error == 0) theirs[i] = fcntl(pair[1], F_DUPFD_CLOEXEC, 16);
        if (error == 0 && theirs[i] < 0) error = errno;
        if (i != LIBRARY && pair[1] >= 0) close(pair[1]);
    }
    posix_spawn_file_actions_t actions;
    posix_spawn_file_actions_init(&actions);
    child->process = -1;
    if (error == 0) {
        posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
        for (int i = 0; i < COUNT; i++) posix_spawn_file_actions_adddup2(&actions, theirs[i], numbers[i]);
        char *const arguments[] = {(char *)(uintptr_t)program, NULL};
        char *const variables[] = {(char *)(uintptr_t)environment, NULL};
        error = posix_spawn(&child->pid, program, &actions, NULL, arguments, variables);
    }
    if (error == 0) {
        child->process = (int)syscall(SYS_pidfd_open, child->pid, 0);
        if (child->process < 0) {
            error = errno;
            kill(child->pid, SIGKILL);
            waitpid(child->pid, NULL, 0);
        }
    }
    posix_spawn_file_actions_destroy(&actions);
    close_all(theirs, COUNT);
    if (error != 0) {
        close_all(ours, COUNT);
        return error;
    }
    child->socket = ours[SOCKET];
    child->messages = ours[MESSAGES];
    child->output = ours[OUTPUT];
    child->errors = ours[ERRORS];
    return 0;
}

void *clinux_shared_memory(size_t size, int *file) {
    *file = memfd_create("penstock-batches", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (*file < 0) return NULL;
    void *memory = MAP_FAILED;
    if (ftruncate(*file, (off_t)size) == 0) {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, *file, 0);
    }
    /* After the mapping above, which may go on writing. */
    if (memory != MAP_FAILED
        && fcntl(*file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL) != 0) {
        munmap(memory, size);
        memory = MAP_FAILED;
    }
    if (memory != MAP_FAILED) return memory;
    int error = errno;
    close(*file);
    errno = error;
    return NULL;
}

void clinux_forget_shared_memory(void *memory, size_t size) { munmap(memory, size); }

int clinux_send_with_file(int socket, const void *bytes, size_t count, int file) {
    union {
        struct cmsghdr header;
        char space[CMSG_SPACE(sizeof(int))];
    } control = {.space = {0}};
    size_t sent = 0;
    while (sent < count) {
        struct iovec piece = {(char *)(uintptr_t)bytes + sent, count - sent};
        struct msghdr message = {.msg_iov = &piece, .msg_iovlen = 1};
        if (sent == 0 && file >= 0) {
            message.msg_control = &control;
            message.msg_controllen = sizeof control.space;
            control.header = (struct cmsghdr){
                .cmsg_len = CMSG_LEN(sizeof(int)), .cmsg_level = SOL_SOCKET, .cmsg_type = SCM_RIGHTS};
            memcpy(CMSG_DATA(&control.header), &file, sizeof file);
        }
        ssize_t done = sendmsg(socket, &message, MSG_NOSIGNAL);
        if (done < 0 && errno == EINTR) continue;
        if (done < 0) return errno == EAGAIN ? ETIMEDOUT : errno;
        sent += (size_t)done;
    }
    return 0;
}

int clinux_wait(int32_t pid, struct clinux_ending *ending) {
    int status = 0;
    struct rusage usage;
    while (wait4(pid, &status, 0, &usage) < 0) {
        if (errno != EINTR) return errno;
    }
    ending->memory = (uint64_t)usage.ru_maxrss << 10;
    ending->signal = WIFSIGNALED(status) ? WTERMSIG(status) : 0;
    ending->status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return 0;
}

int clinux_set_limit(int32_t pid, enum clinux_limit limit, uint64_t value) {
    /* Only the soft limit of processor time: nobody but root could raise the hard limit again. */
    const struct rlimit both = {.rlim_cur = value, .rlim_max = limit == CLINUX_PROCESSOR_TIME ? RLIM_INFINITY : value};
    const __rlimit_resource_t resource = limit == CLINUX_MEMORY ? RLIMIT_DATA
        : limit == CLINUX_OPEN_FILES                            ? RLIMIT_NOFILE
                                                                : RLIMIT_CPU;
    return prlimit(pid, resource, &both, NULL) == 0 ? 0 : errno;
}

int64_t clinux_processor_time(int32_t pid) {
    clockid_t clock;
    struct timespec time;
    if (clock_getcpuclockid(pid, &clock) != 0 || clock_gettime(clock, &time) != 0) return -1;
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

ssize_t clinux_attribute(int file, const char *name, void *value, size_t size) {
    return fgetxattr(file, name, value, size);
}

int clinux_set_attribute(int file, const char *name, const void *value, size_t size) {
    if (fsetxattr(file, name, value, size, 0) == 0) { return 0; }
    switch (errno) {
    case ENOTSUP: case ENOSYS: case EPERM: case EACCES: case E2BIG: case ERANGE: case ENOSPC: case EDQUOT: return 1;
    default: return -1;
    }
}
