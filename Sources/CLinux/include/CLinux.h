/* What Swift's view of glibc leaves out: functions behind _GNU_SOURCE and variadic ones. Each is
 * the system call of its name; errors are in errno as usual. */
#ifndef CLINUX_H
#define CLINUX_H

#include <stdint.h>
#include <sys/types.h>

/* pthread_setname_np(3) for the calling thread; name is at most 15 bytes. */
int clinux_name_thread(const char *name);

/* socket(2): AF_UNIX, SOCK_STREAM, closed on exec. The constants are enumerators in glibc, which
 * Swift sees or not depending on what else a file imports. */
int clinux_unix_stream_socket(void);

/* SO_SNDTIMEO (socket(7)): how long connect(2) and a blocking write may wait; errno is EAGAIN then. */
int clinux_send_timeout(int socket, int64_t microseconds);

/* O_DIRECT (open(2)), whose value differs between architectures. */
int clinux_o_direct(void);

/* Zeroed pages for a secret of count bytes, left out of core dumps (mmap(2), MADV_DONTDUMP); NULL: see errno. */
void *clinux_secret_pages(size_t count);

/* Zeroes them and gives them back. */
void clinux_forget_secret(void *pages, size_t count);

/* How many of the file's bytes from offset on, up to count and to a few MiB, the page cache has
 * (mincore(2)); 0 also where the system does not tell. Touches none of them. */
size_t clinux_cached(int file, off_t offset, size_t count);

struct clinux_status {
    int64_t size;
    /* Nanoseconds since 1970-01-01 UTC; born is 0 where the filesystem does not keep it. */
    int64_t modified, born;
    uint64_t device, inode;
    int is_directory;
};

/* statx(2) of the path, or of the open file if path is NULL. */
int clinux_status(int file, const char *path, struct clinux_status *status);

/* epoll(7), for sockets. */
int clinux_poll_make(void);
/* Edge-triggered: reports each change to readable, writable or ended once. Otherwise: reports a readable file
 * again and again until it is read. */
int clinux_poll_add(int poll, int file, uint64_t tag, int is_edge_triggered);
int clinux_poll_remove(int poll, int file);

struct clinux_ready {
    uint64_t tag;
    /* has_ended: the peer writes no more. is_gone: it does not read either. */
    uint8_t can_read, can_write, has_ended, is_gone;
};

/* At most 256 at once; -1 milliseconds: without end. */
int clinux_poll_wait(int poll, struct clinux_ready *ready, int capacity, int milliseconds);

/* eventfd(2) that never blocks. */
int clinux_bell(void);

/* accept4(2) of a socket that never blocks and is closed on exec. */
int clinux_accept(int listener);

struct clinux_peer {
    int32_t pid;
    uint32_t uid, gid;
};

/* SO_PEERCRED (unix(7)): who connected, as the kernel recorded it at that time. */
int clinux_peer(int file, struct clinux_peer *peer);

/* SO_PEERGROUPS: the ids of the groups beside the first. Returns how many. */
int clinux_peer_groups(int file, uint32_t *groups, int capacity);

/* malloc_trim(3): gives free memory back to the system. Takes up to a few milliseconds. */
void clinux_trim(void);

#endif
