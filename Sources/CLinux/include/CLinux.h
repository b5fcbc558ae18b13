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

/* O_DIRECT (open(2)), whose value differs between architectures. */
int clinux_o_direct(void);

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

#endif
