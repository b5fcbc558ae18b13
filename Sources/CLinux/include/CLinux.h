/* Parts of glibc that Swift does not import: functions behind _GNU_SOURCE and variadic functions. Each
 * function wraps the system call of its name and reports errors in errno. */
#ifndef CLINUX_H
#define CLINUX_H

#include <stdint.h>
#include <sys/types.h>

/* pthread_setname_np(3) for the calling thread; name has at most 15 bytes. */
int clinux_name_thread(const char *name);

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

struct clinux_status {
    int64_t size;
    /* Nanoseconds since 1970-01-01 UTC. born is 0 if the filesystem does not record it. */
    int64_t modified, born;
    uint64_t device, inode;
    int is_directory;
};

/* statx(2) of path or, if path is NULL, of the open file. */
int clinux_status(int file, const char *path, struct clinux_status *status);

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

/* SO_PEERGROUPS: the ids of the peer's supplementary groups. Returns how many there are. */
int clinux_peer_groups(int file, uint32_t *groups, int capacity);

/* malloc_trim(3): returns free memory to the system. Takes up to a few milliseconds. */
void clinux_trim(void);

#endif
