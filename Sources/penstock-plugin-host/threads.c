/* Landlock limits the thread that asks for it, and the threads which that one starts later. The Go runtime starts
 * threads when the library is loaded, before its needs are known; goroutines run on them and on threads that they start.
 * So each of them limits itself, in a signal handler, as the C library changes the user id of all threads. Kernels with
 * Landlock 8 could do it in one call. */
#include "threads.h"

#include "channel.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#define MAX_THREADS 1024
/* Milliseconds that a thread may take. A thread that sleeps or computes is interrupted at once. */
#define PATIENCE 5000

static struct {
    pid_t id;
    atomic_bool is_limited;
} threads[MAX_THREADS];
static atomic_int count;
static int the_rules;

/* Only calls that a signal handler may make. */
static void limit_this_thread(int number) {
    (void)number;
    int saved = errno;
    pid_t self = (pid_t)syscall(SYS_gettid);
    bool is_limited = syscall(SYS_landlock_restrict_self, the_rules, 0) == 0;
    for (int i = 0; i < count; i++) {
        if (threads[i].id == self) threads[i].is_limited = is_limited;
    }
    errno = saved;
}

static bool is_known(pid_t id) {
    for (int i = 0; i < count; i++) {
        if (threads[i].id == id) return true;
    }
    return false;
}

/* 0 as the signal: only asks whether the thread exists. */
static bool send(pid_t id, int number) { return syscall(SYS_tgkill, getpid(), id, number) == 0; }

static void wait_for(int thread) {
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; !threads[thread].is_limited; waited++) {
        /* It has ended. */
        if (!send(threads[thread].id, 0)) return;
        if (waited == PATIENCE) {
            end_process("cannot limit the files of a thread that the plugin started when it was loaded: start threads "
                        "in create or later");
        }
        nanosleep(&pause, NULL);
    }
}

/* Returns the number of threads that are new. A thread that is limited starts only limited threads. So if there are no
 * new ones after all known ones are limited, there are no others. */
static int limit_new_threads(int number) {
    int first = count;
    DIR *directory = opendir("/proc/self/task");
    if (!directory) end_process("cannot list the threads of the plugin");
    for (struct dirent *entry; (entry = readdir(directory));) {
        pid_t id = (pid_t)atoi(entry->d_name);
        if (id <= 0 || id == getpid() || is_known(id)) continue;
        if (count == MAX_THREADS) end_process("the plugin started too many threads when it was loaded");
        threads[count].id = id;
        count++;
    }
    closedir(directory);
    for (int i = first; i < count; i++) {
        if (send(threads[i].id, number)) wait_for(i);
    }
    return count - first;
}

void limit_other_threads(int rules) {
    the_rules = rules;
    /* The least likely signal to be in use. On the thread's own signal stack: that of a goroutine is small. */
    const int number = SIGRTMAX;
    const struct sigaction action = {.sa_handler = limit_this_thread, .sa_flags = SA_ONSTACK | SA_RESTART};
    struct sigaction before;
    if (sigaction(number, &action, &before) != 0) end_process("cannot limit the files of the plugin's threads");
    while (limit_new_threads(number) > 0) {}
    sigaction(number, &before, NULL);
}
