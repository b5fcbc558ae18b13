#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

int clinux_name_thread(const char *name) { return pthread_setname_np(pthread_self(), name); }

int clinux_unix_stream_socket(void) { return socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0); }

int clinux_o_direct(void) { return O_DIRECT; }

size_t clinux_cached(int file, off_t offset, size_t count) {
    unsigned char pages[1025];
    size_t size = (size_t)sysconf(_SC_PAGESIZE), before = (size_t)offset % size;
    if (count > (sizeof pages - 1) * size) count = (sizeof pages - 1) * size;
    if (count == 0) return 0;
    /* Mapped to be asked about, never read: a page that cannot be read would be a signal. */
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
