/* Measures the machine's own limit, for comparison with the journal: the same writes, syncs and arrivals
 * without a journal. Each run prints one line of JSON.
 *
 *   limit write DIRECTORY direct|cached BYTES MIB     writes of BYTES bytes, each with an fdatasync
 *   limit latency DIRECTORY direct|cached RATE SECONDS     a group-commit loop, events one at a time
 *   limit read direct|cached FILE ...                 reads the files, one MiB at a time
 *
 * The written files are filled with zeros and synced before, so that an fdatasync writes only data. */
#define _GNU_SOURCE
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

enum { BLOCK = 4096, PIECE = 4 << 20, EVENT = 570, READ = 1 << 20 };

static void check(int is_true, const char *what) {
    if (is_true) return;
    perror(what);
    exit(1);
}

static int64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return time.tv_sec * 1000000000LL + time.tv_nsec;
}

static double cpu_seconds(void) {
    struct rusage usage;
    getrusage(RUSAGE_SELF, &usage);
    return usage.ru_utime.tv_sec + usage.ru_stime.tv_sec + (usage.ru_utime.tv_usec + usage.ru_stime.tv_usec) / 1e6;
}

static char *aligned(size_t bytes) {
    void *memory = aligned_alloc(BLOCK, bytes);
    check(memory != NULL, "aligned_alloc");
    memset(memory, 0, bytes);
    return memory;
}

/* Makes a file of zeros. It is unlinked at once, so it disappears when the program ends. */
static int filled(const char *directory, int is_direct, int64_t bytes) {
    char path[4096];
    snprintf(path, sizeof path, "%s/limit", directory);
    int file = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT, 0600);
    check(file >= 0, path);
    char *zeros = aligned(PIECE);
    for (int64_t done = 0; done < bytes; done += PIECE) check(pwrite(file, zeros, PIECE, done) == PIECE, "pwrite");
    check(fsync(file) == 0, "fsync");
    free(zeros);
    check(fcntl(file, F_SETFL, is_direct ? O_DIRECT : 0) == 0, "fcntl");
    unlink(path);
    return file;
}

static void measure_writes(const char *directory, int is_direct, int64_t bytes, int64_t mebibytes) {
    int64_t total = mebibytes << 20;
    int file = filled(directory, is_direct, total + PIECE);
    char *data = aligned(bytes);
    memset(data, 'x', bytes);
    double cpu = cpu_seconds();
    int64_t begin = now();
    for (int64_t done = 0; done < total; done += bytes) {
        check(pwrite(file, data, bytes, done) == bytes, "pwrite");
        check(fdatasync(file) == 0, "fdatasync");
    }
    double seconds = (now() - begin) / 1e9;
    printf("{\"mb_per_s\":%f,\"cpu_s_per_gb\":%f}\n", total / seconds / 1e6, (cpu_seconds() - cpu) / (total / 1e9));
}

/* The group-commit loop: events that arrive during an fdatasync form the next write. */
static struct {
    pthread_mutex_t mutex;
    pthread_cond_t arrived;
    char *front;
    int64_t bytes, count;
} queue = {.mutex = PTHREAD_MUTEX_INITIALIZER, .arrived = PTHREAD_COND_INITIALIZER};

static struct {
    int file;
    int64_t count, capacity;
    int64_t *acknowledged;
} loop;

static void *commit(void *unused) {
    (void)unused;
    char *back = aligned(loop.capacity);
    int64_t offset = 0, done = 0;
    while (done < loop.count) {
        pthread_mutex_lock(&queue.mutex);
        while (queue.bytes == 0) pthread_cond_wait(&queue.arrived, &queue.mutex);
        char *full = queue.front;
        int64_t bytes = queue.bytes, count = queue.count;
        queue.front = back;
        queue.bytes = queue.count = 0;
        pthread_mutex_unlock(&queue.mutex);
        back = full;
        int64_t whole = (bytes + BLOCK - 1) / BLOCK * BLOCK;
        check(pwrite(loop.file, full, whole, offset) == whole, "pwrite");
        check(fdatasync(loop.file) == 0, "fdatasync");
        offset += whole;
        int64_t time = now();
        for (int64_t end = done + count; done < end; done++) loop.acknowledged[done] = time;
    }
    return NULL;
}

static int ascending(const void *a, const void *b) {
    int64_t x = *(const int64_t *)a, y = *(const int64_t *)b;
    return (x > y) - (x < y);
}

static void measure_latency(const char *directory, int is_direct, int64_t rate, int64_t seconds) {
    char event[EVENT];
    memset(event, 'x', sizeof event);
    loop.count = rate * seconds;
    loop.capacity = 16 << 20;
    loop.acknowledged = calloc(loop.count, sizeof(int64_t));
    check(loop.acknowledged != NULL, "calloc");
    /* A commit takes at most one block more than its events, and there are at most as many commits as events. */
    int64_t most = loop.count * (EVENT + BLOCK);
    loop.file = filled(directory, is_direct, most < 1 << 30 ? most : 1 << 30);
    queue.front = aligned(loop.capacity);
    pthread_t thread;
    check(pthread_create(&thread, NULL, commit, NULL) == 0, "pthread_create");
    int64_t begin = now() + 10000000;
    double interval = 1e9 / rate;
    for (int64_t number = 0; number < loop.count; number++) {
        int64_t moment = begin + (int64_t)(number * interval);
        while (now() < moment) {
            struct timespec time = {moment / 1000000000, moment % 1000000000};
            clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL);
        }
        pthread_mutex_lock(&queue.mutex);
        check(queue.bytes + EVENT <= loop.capacity, "the disk does not keep up");
        memcpy(queue.front + queue.bytes, event, EVENT);
        int is_first = queue.bytes == 0;
        queue.bytes += EVENT;
        queue.count++;
        pthread_mutex_unlock(&queue.mutex);
        if (is_first) pthread_cond_signal(&queue.arrived);
    }
    pthread_join(thread, NULL);
    int64_t *latency = loop.acknowledged;
    for (int64_t number = 0; number < loop.count; number++) latency[number] -= begin + (int64_t)(number * interval);
    qsort(latency, loop.count, sizeof *latency, ascending);
    printf("{\"p50_us\":%f,\"p99_us\":%f,\"p999_us\":%f}\n", latency[loop.count / 2] / 1e3,
           latency[loop.count * 99 / 100] / 1e3, latency[loop.count * 999 / 1000] / 1e3);
}

static void measure_reads(int is_direct, char **paths) {
    char *data = aligned(READ);
    int64_t total = 0;
    double cpu = cpu_seconds();
    int64_t begin = now();
    for (; *paths != NULL; paths++) {
        int file = open(*paths, O_RDONLY | (is_direct ? O_DIRECT : 0));
        check(file >= 0, *paths);
        for (ssize_t got; (got = read(file, data, READ)) != 0; total += got) check(got > 0, "read");
        close(file);
    }
    double seconds = (now() - begin) / 1e9;
    printf("{\"mb_per_s\":%f,\"cpu_s_per_gb\":%f}\n", total / seconds / 1e6, (cpu_seconds() - cpu) / (total / 1e9));
}

int main(int count, char **words) {
    if (count == 6 && strcmp(words[1], "write") == 0) {
        measure_writes(words[2], strcmp(words[3], "direct") == 0, atoll(words[4]), atoll(words[5]));
    } else if (count == 6 && strcmp(words[1], "latency") == 0) {
        measure_latency(words[2], strcmp(words[3], "direct") == 0, atoll(words[4]), atoll(words[5]));
    } else if (count > 3 && strcmp(words[1], "read") == 0) {
        measure_reads(strcmp(words[2], "direct") == 0, words + 3);
    } else {
        fputs("limit: see the comment at its top\n", stderr);
        return 2;
    }
    return 0;
}
