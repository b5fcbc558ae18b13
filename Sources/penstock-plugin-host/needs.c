#include "needs.h"

#include "channel.h"
#include "filter.h"
#include "threads.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/landlock.h>
#include <linux/seccomp.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#define READING (LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_READ_DIR)
#define WRITING \
    (LANDLOCK_ACCESS_FS_WRITE_FILE | LANDLOCK_ACCESS_FS_REMOVE_DIR | LANDLOCK_ACCESS_FS_REMOVE_FILE \
        | LANDLOCK_ACCESS_FS_MAKE_CHAR | LANDLOCK_ACCESS_FS_MAKE_DIR | LANDLOCK_ACCESS_FS_MAKE_REG \
        | LANDLOCK_ACCESS_FS_MAKE_SOCK | LANDLOCK_ACCESS_FS_MAKE_FIFO | LANDLOCK_ACCESS_FS_MAKE_BLOCK \
        | LANDLOCK_ACCESS_FS_MAKE_SYM)
/* Newer than the headers of Debian 12. */
#define REFER (1ULL << 13)
#define TRUNCATE (1ULL << 14)

/* What every plugin may read: libraries, time zones, certificates, name resolution. Of /etc, see below. */
static const char *const readable[] = {"/usr", "/lib", "/lib64", "/bin", "/sbin", "/opt", "/proc", "/sys",
    "/run/systemd/resolve", "/run/nscd", "/var/lib/ca-certificates"};

/* Whether `needs` has the word. */
static bool has(const char *needs, const char *word) {
    size_t length = strlen(word);
    for (const char *at = needs; *at; at += strcspn(at, " "), at += strspn(at, " ")) {
        if (strcspn(at, " ") == length && memcmp(at, word, length) == 0) return true;
    }
    return false;
}

static void allow(int rules, const char *path, uint64_t access) {
    int file = open(path, O_PATH | O_CLOEXEC);
    if (file < 0) return;
    struct stat status;
    /* For a file, only what applies to files. */
    if (fstat(file, &status) == 0 && !S_ISDIR(status.st_mode)) {
        access &= LANDLOCK_ACCESS_FS_EXECUTE | LANDLOCK_ACCESS_FS_READ_FILE | LANDLOCK_ACCESS_FS_WRITE_FILE | TRUNCATE;
    }
    const struct landlock_path_beneath_attr rule = {.allowed_access = access, .parent_fd = file};
    (void)syscall(SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
    close(file);
}

/* The system's configuration, but not the daemon's, which names its secrets. */
static void allow_etc(int rules) {
    DIR *directory = opendir("/etc");
    if (!directory) return;
    struct dirent *entry;
    char path[sizeof "/etc/" + NAME_MAX];
    while ((entry = readdir(directory))) {
        if (entry->d_name[0] == '.' || strcmp(entry->d_name, "penstock") == 0) continue;
        snprintf(path, sizeof path, "/etc/%s", entry->d_name);
        allow(rules, path, READING);
    }
    closedir(directory);
}

static void make_directories(char *path) {
    for (char *at = path + 1; (at = strchr(at, '/')); at++) {
        *at = 0;
        (void)mkdir(path, 0750);
        *at = '/';
    }
}

static void limit_files(const char *needs, const char *paths, size_t size) {
    long version = syscall(SYS_landlock_create_ruleset, NULL, 0, LANDLOCK_CREATE_RULESET_VERSION);
    if (version < 1) return; /* a kernel without Landlock */
    uint64_t writing = WRITING | (version >= 2 ? REFER : 0) | (version >= 3 ? TRUNCATE : 0);
    const struct landlock_ruleset_attr all = {.handled_access_fs = READING | writing};
    int rules = (int)syscall(SYS_landlock_create_ruleset, &all, sizeof all, 0);
    if (rules < 0) end_process("cannot limit the plugin's files");
    for (unsigned i = 0; i < sizeof readable / sizeof *readable; i++) allow(rules, readable[i], READING);
    allow_etc(rules);
    allow(rules, "/dev", READING);
    allow(rules, "/dev/null", READING | LANDLOCK_ACCESS_FS_WRITE_FILE);
    /* Where the Swift runtime is installed. */
    const char *libraries = getenv("LD_LIBRARY_PATH");
    if (libraries) allow(rules, libraries, READING);
    for (const char *path = paths; path < paths + size; path += strlen(path) + 1) {
        char *directory = strdup(path), *slash = directory ? strrchr(directory, '/') : NULL;
        if (slash) {
            *(slash == directory ? slash + 1 : slash) = 0;
            allow(rules, directory, READING | writing);
        }
        free(directory);
    }
    char *words = strdup(needs), *rest = words;
    if (!words) end_process("out of memory");
    for (char *word; (word = strsep(&rest, " "));) {
        if (strncmp(word, "files:/", 7) == 0) allow(rules, word + 6, READING | writing);
    }
    free(words);
    if (syscall(SYS_landlock_restrict_self, rules, 0) != 0) end_process("cannot limit the plugin's files");
    limit_other_threads(rules);
    close(rules);
}

static void install(struct sock_filter *filter, size_t count) {
    struct sock_fprog program = {.len = (unsigned short)count, .filter = filter};
    /* To threads as well that the plugin started when it was loaded. */
    if (syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, SECCOMP_FILTER_FLAG_TSYNC, &program) != 0 && errno != EINVAL
        && errno != ENOSYS) {
        end_process("cannot install the system call filter of the plugin's needs");
    }
}

static void limit_sockets(bool local) {
    /* AF_MAX: no family. */
    struct sock_filter filter[] = {
        LOAD(nr),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_socket, 1, 0),
        ANSWER(SECCOMP_RET_ALLOW),
        ARGUMENT(0),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, local ? AF_UNIX : AF_MAX, 0, 1),
        ANSWER(SECCOMP_RET_ALLOW),
        ANSWER(SECCOMP_RET_ERRNO | EACCES),
    };
    install(filter, sizeof filter / sizeof *filter);
}

/* Newer than the headers of Debian 12. */
#define SYS_fchmodat2 452

/* Landlock has no right for them: a plugin could open its owner's files to others, or take them from the daemon. Those of
 * an open file stay permitted: SQLite sets them for its journals. */
static void forbid_metadata(void) {
    struct sock_filter filter[] = {
        LOAD(nr),
#if defined(__x86_64__)
        NEVER(chmod), NEVER(chown), NEVER(lchown), NEVER(utime), NEVER(utimes), NEVER(futimesat),
#endif
        NEVER(fchmodat), NEVER(fchmodat2), NEVER(fchownat), NEVER(setxattr), NEVER(lsetxattr), NEVER(removexattr),
        NEVER(lremovexattr),
        ANSWER(SECCOMP_RET_ALLOW),
    };
    install(filter, sizeof filter / sizeof *filter);
}

void confine_to(const char *needs, const char *paths, size_t size) {
    for (const char *path = paths; path < paths + size; path += strlen(path) + 1) {
        char *copy = strdup(path);
        if (!copy) end_process("out of memory");
        if (*copy == '/') make_directories(copy);
        free(copy);
    }
    if (!needs) return;
    limit_files(needs, paths, size);
    forbid_metadata();
    if (!has(needs, "network")) limit_sockets(has(needs, "unix"));
}
