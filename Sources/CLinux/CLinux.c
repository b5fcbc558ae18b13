#define _GNU_SOURCE
#include "CLinux.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
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

int clinux_status(int file, const char *path, struct clinux_status *status) {
    struct statx found;
    const char *name = path != NULL ? path : "";
    if (statx(path != NULL ? AT_FDCWD : file, name, path != NULL ? 0 : AT_EMPTY_PATH,
              STATX_TYPE | STATX_SIZE | STATX_MTIME | STATX_INO | STATX_BTIME, &found) != 0)
        return -1;
    status->size = (int64_t)found.stx_size;
    status->modified = found.stx_mtime.tv_sec * 1000000000 + found.stx_mtime.tv_nsec;
    status->is_directory = S_ISDIR(found.stx_mode);
    status->device = makedev(found.stx_dev_major, found.stx_dev_minor);
    status->inode = found.stx_ino;
    /* Not every filesystem keeps it. */
    status->born = (found.stx_mask & STATX_BTIME) != 0 ? found.stx_btime.tv_sec * 1000000000 + found.stx_btime.tv_nsec : 0;
    return 0;
}
