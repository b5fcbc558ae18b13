/* Parts of glibc that Swift does not import: functions behind _GNU_SOURCE and variadic functions. Each
 * function wraps the system call of its name and reports errors in errno. */
#ifndef CLINUX_H
#define CLINUX_H

#include <stdint.h>
#include <sys/types.h>

/* pthread_setname_np(3) for the calling thread; name has at most 15 bytes. */
int clinux_name_thread(const char *name);

/* sched_setattr(2) for the calling thread: how long it runs at once before another thread of its processor may. A
 * thread with a short time runs sooner after it wakes (EEVDF, Linux 6.12 and newer; older kernels ignore the time).
 * From 100 microseconds to 100 milliseconds. Keeps policy and nice value. */
int clinux_time_slice(uint64_t nanoseconds);
/* PR_SET_TIMERSLACK (prctl(2)) for the calling thread: how much later than asked a wait of it may end. */
void clinux_timer_slack(unsigned long nanoseconds);
/* sched_setattr again: raises the calling thread's nice value by `steps`, at most to 19. */
int clinux_lower_priority(int32_t steps);

/* socket(2): AF_UNIX, SOCK_STREAM, closed on exec. In glibc these constants are enumerators, and whether
 * Swift sees them depends on a file's other imports. */
int clinux_unix_stream_socket(void);

/* SO_SNDTIMEO (socket(7)): limits how long connect(2) and a blocking write wait. At the limit, they fail
 * with EAGAIN. */
int clinux_send_timeout(int socket, int64_t microseconds);

/* O_DIRECT (open(2)), whose value differs between architectures. */
int clinux_o_direct(void);

/* Zeroed pages for a secret of count bytes, excluded from core dumps (mmap(2), MADV_DONTDUMP). Returns
 * NULL on failure. */
void *clinux_secret_pages(size_t count);

/* Zeroes the pages and unmaps them. */
void clinux_forget_secret(void *pages, size_t count);

/* How many bytes of the file, from offset on, are in the page cache without a gap (mincore(2)): at most
 * count, and at most a few MiB. Returns 0 if the system cannot tell. Reads none of the bytes. */
size_t clinux_cached(int file, off_t offset, size_t count);

/* Writes the part of the file that is changed in the page cache, and waits for it (sync_file_range(2)). It makes
 * nothing durable. Returns 0; 1 if the system has no such call for the file; -1 for a failure, which a later
 * fdatasync may not report again. */
int clinux_write_out(int file, off_t offset, off_t count);

struct clinux_status {
    int64_t size;
    /* Nanoseconds since 1970-01-01 UTC; 0 if the filesystem does not record it. */
    int64_t born;
    uint64_t device, inode;
    int is_directory;
};

/* statx(2) of path or, if path is NULL, of the open file. It asks for no time of change. Linux 6.13 and newer give a
 * file's first change after such a question a time of its own within the clock's tick, and no later change on the
 * machine may precede it. So a question before each write to one file made each write to the journal change that file's
 * time, too, and an ext4 without a journal wrote its inode with each commit. */
int clinux_status(int file, const char *path, struct clinux_status *status);

/* The time of the file's last change, in nanoseconds since 1970-01-01 UTC. Not for a file that is written often: see
 * clinux_status. Returns 0; -1: failure. */
int clinux_modified(const char *path, int64_t *time);

/* Extended attributes (xattr(7)) of the open file. Reading returns the value's length; -1: there is none of at most size
 * bytes. Setting returns 0; 1 if the filesystem or the file's permissions do not allow it, or it has no room for it; -1
 * for any other failure. */
ssize_t clinux_attribute(int file, const char *name, void *value, size_t size);
int clinux_set_attribute(int file, const char *name, const void *value, size_t size);

/* epoll(7), for sockets. */
int clinux_poll_make(void);
/* Edge-triggered: reports each change to readable, writable or ended once. Otherwise level-triggered:
 * reports a readable file repeatedly until it is read. */
int clinux_poll_add(int poll, int file, uint64_t tag, int is_edge_triggered);
int clinux_poll_remove(int poll, int file);

struct clinux_ready {
    uint64_t tag;
    /* has_ended: the peer writes no more. is_gone: it does not read either. */
    uint8_t can_read, can_write, has_ended, is_gone;
};

/* Reports at most 256 sockets per call. milliseconds of -1: no timeout. */
int clinux_poll_wait(int poll, struct clinux_ready *ready, int capacity, int milliseconds);

/* Reads that the disk performs while the caller goes on (io_submit(2)), from a file that is open past the page cache.
 * begin returns 0 if the system has no room for so many. start returns 0, or an errno. wait returns the number of one of
 * the reads, and in *result its bytes, or a negative errno; there must be one. end waits for all of them: until then they
 * may write to the memory. */
uint64_t clinux_begin_reads(unsigned most);
int clinux_start_read(uint64_t reads, uint64_t number, int file, void *memory, size_t count, int64_t offset);
uint64_t clinux_wait_read(uint64_t reads, int64_t *result);
void clinux_end_reads(uint64_t reads);

/* eventfd(2), non-blocking. */
int clinux_bell(void);

/* accept4(2). The accepted socket is non-blocking and closed on exec. */
int clinux_accept(int listener);

struct clinux_peer {
    int32_t pid;
    uint32_t uid, gid;
};

/* SO_PEERCRED (unix(7)): the peer's credentials, as the kernel recorded them when it connected. */
int clinux_peer(int file, struct clinux_peer *peer);

/* FIONREAD (ioctl(2)): how many bytes can be read. Returns -1 on failure. */
int clinux_available(int file);

/* SO_PEERGROUPS: the ids of the peer's supplementary groups. Returns how many there are. */
int clinux_peer_groups(int file, uint32_t *groups, int capacity);

/* IP addresses are 16 bytes: IPv6, or IPv4 mapped to ::ffff:0:0/96 (RFC 4291, 2.5.5.2). */
enum { CLINUX_ADDRESS_BYTES = 16, CLINUX_ADDRESS_TEXT = 46 };

/* inet_pton(3). Returns 0, or -1 if the text is not an address of either family. */
int clinux_parse_address(const char *text, uint8_t *bytes);
/* inet_ntop(3): a mapped address as IPv4. Writes at most CLINUX_ADDRESS_TEXT bytes with the NUL. */
void clinux_format_address(const uint8_t *bytes, char *text);

/* A socket that listens at an address: non-blocking, closed on exec, SO_REUSEADDR; for IPv6, IPV6_V6ONLY. *port 0: the
 * kernel chooses a port and *port receives it. Returns -1 with errno and the name of the failed call in *call. */
int clinux_tcp_listener(const uint8_t *bytes, uint16_t *port, int backlog, const char **call);

/* getpeername(2) and getsockname(2). EAFNOSUPPORT for a socket that is not of IPv4 or IPv6. */
int clinux_peer_address(int file, uint8_t *bytes, uint16_t *port);
int clinux_local_address(int file, uint8_t *bytes, uint16_t *port);

/* TCP_NODELAY (tcp(7)): small writes are sent at once. */
int clinux_no_delay(int file);

/* socket(2): AF_UNIX, SOCK_DGRAM, non-blocking, closed on exec. */
int clinux_unix_datagram_socket(void);

/* SO_PASSCRED (unix(7)): each message that is received carries the credentials of its sender. */
int clinux_pass_credentials(int file);

struct clinux_datagram {
    /* The message's own length, which may be greater than its slot. */
    uint32_t length;
    uint8_t has_sender;
    struct clinux_peer sender;
};

/* recvmmsg(2): receives at most `count` messages (64 at most), each into its own `slot` bytes of `buffer`, and does not
 * wait. Closes all descriptors that were sent along. Returns the number of messages, or -1. */
int clinux_receive_datagrams(int file, void *buffer, size_t slot, int count, struct clinux_datagram *received);

/* The lowest priority of the calling thread for processors and disks (sched_setscheduler(2), setpriority(2),
 * ioprio_set(2)). Errors are ignored. */
void clinux_enter_background(void);
int clinux_idle_policy(void);

/* sched_getaffinity(2): how many processors this process may run on, at least 1. */
int clinux_processors(void);

/* malloc_trim(3): returns free memory to the system. Takes up to a few milliseconds. */
void clinux_trim(void);

/* mallopt(3): memory of 1 MiB and more is returned to the system when it is freed, and so is free memory of that size
 * at the end of a thread's heap. By default, glibc raises both limits up to 64 MiB when such memory is freed, and
 * malloc_trim does not return the end of the heaps of threads. Call it before other threads start. */
void clinux_bound_free_memory(void);

/* Starts a program with an end of a new socket pair as descriptor 3, `file` as 4, and ends of new pipes as 5, standard
 * output and standard error; standard input is /dev/null. No other descriptor is inherited that is closed on exec.
 * `environment` is its only variable, NAME=value. Returns 0, or an errno; then nothing was started. */
struct clinux_child {
    int32_t pid;
    /* This process's ends, closed on exec. The pipes are not blocking. process becomes readable when the child ends
     * (pidfd_open(2)). */
    int socket, messages, output, errors, process;
};
int clinux_spawn(const char *program, const char *environment, int file, struct clinux_child *child);

/* Memory that another process may map: readable and writable here, `size` bytes, and sealed so that it never changes
 * its size and no later mapping can write (memfd_create(2), F_SEAL_FUTURE_WRITE). Returns the address, and its
 * descriptor in *file; NULL with errno set. */
void *clinux_shared_memory(size_t size, int *file);
void clinux_forget_shared_memory(void *memory, size_t size);

/* Sends all bytes, and a descriptor with the first one if `file` is not -1. Waits at most the socket's send timeout for
 * progress. Returns 0, or an errno. */
int clinux_send_with_file(int socket, const void *bytes, size_t count, int file);

/* waitpid(2): how the child ended. Waits. Returns 0, or an errno. */
struct clinux_ending {
    int32_t status; /* of exit; -1 if a signal ended it */
    int32_t signal; /* 0 if it exited */
    uint64_t memory; /* the most resident memory that it had, in bytes */
};
int clinux_wait(int32_t pid, struct clinux_ending *ending);

/* Limits of a process of the same user (prlimit(2)). Returns 0, or an errno. */
enum clinux_limit { CLINUX_MEMORY /* RLIMIT_DATA, bytes */, CLINUX_OPEN_FILES, CLINUX_PROCESSOR_TIME /* s, soft */ };
int clinux_set_limit(int32_t pid, enum clinux_limit limit, uint64_t value);

/* The processor time that a process has used, in nanoseconds; -1: it has ended. */
int64_t clinux_processor_time(int32_t pid);

/* socketpair(2): AF_UNIX, SOCK_STREAM, non-blocking, closed on exec. */
int clinux_socket_pair(int *first, int *second);
/* SO_SNDBUF (socket(7)). */
int clinux_send_buffer(int socket, int size);

/* One byte with descriptors (SCM_RIGHTS, unix(7)), at most CLINUX_FILES_MOST, without waiting. Returns 0, or an errno. */
enum { CLINUX_FILES_MOST = 253 };
int clinux_send_files(int socket, const int *files, int count);
/* clinux_accept and, as the next system call, clinux_send_files with the accepted socket; *is_in: whether it was sent. */
int clinux_accept_into(int listener, int queue, int *is_in);
/* The same without a moment between them in which a kill could lose the client: see AcceptRing.c. One thread at a time.
 * `listener` and `queue` must be non-blocking. CLINUX_RING_BROKEN: the kernel refuses the ring's use (errno); close it. */
enum { CLINUX_RING_BROKEN = -2 };
struct clinux_accept_ring;
int clinux_accept_linked(struct clinux_accept_ring *ring, int listener, int queue, int *is_in);
/* NULL: the kernel or a sandbox does not allow it. */
struct clinux_accept_ring *clinux_accept_ring_open(void);
void clinux_accept_ring_close(struct clinux_accept_ring *ring);
/* The descriptors of the next such byte, into CLINUX_FILES_MOST places. With `peeks`, the byte and its descriptors stay
 * in the socket as well. Returns how many there are; -1: there is no byte. */
int clinux_receive_files(int socket, int *files, int peeks);

/* SO_COOKIE (socket(7)): a number that no other socket of this kernel ever has. 0 on failure. */
uint64_t clinux_cookie(int socket);

/* SO_PEEK_OFF (socket(7)): where the next peek begins. A peek moves it forward, and reading moves it back. -1: peeks
 * begin with the first byte, and it is not moved. */
int clinux_peek_offset(int socket);
int clinux_set_peek_offset(int socket, int offset);
/* A file in memory that never changes its size (memfd_create(2)). Its pages exist once they are used. Returns -1 on
 * failure. */
int clinux_kept_file(size_t size);
/* Maps such a file, to read and write. Returns NULL if it is another kind of file, or has another size. */
void *clinux_map_kept(int file, size_t size);
/* Frees pages: they are zero again. */
void clinux_forget_kept(int file, int64_t place, int64_t count);

/* A store is in memory before every later store and system call of this thread. */
static inline void clinux_store(void *memory, uint64_t value) {
    __atomic_store_n((uint64_t *)memory, value, __ATOMIC_RELEASE);
}
static inline uint64_t clinux_load(const void *memory) {
    return __atomic_load_n((const uint64_t *)memory, __ATOMIC_ACQUIRE);
}

/* Asks the processor to bring the cache lines of count bytes near, because they will be read soon. */
static inline void clinux_prefetch(const void *bytes, size_t count) {
    for (size_t line = 0; line < count; line += 64) __builtin_prefetch((const char *)bytes + line, 0, 3);
}

#endif
