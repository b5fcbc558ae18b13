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

/* pread(2) of what is in the page cache only, from the first byte on: preadv2(2) with RWF_NOWAIT.
 * EAGAIN: the first byte is not there. */
ssize_t clinux_read_cached(int file, void *bytes, size_t count, off_t offset);

#endif
