/* Kills a process that accepts clients and hands their sockets on, as the daemon does: does it lose any of them?
 *
 * usage: accept_kills ring|plain KILLS
 *
 * Clients connect, write a number and close, as fast as they can. A process accepts them into a queue that outlives
 * it (clinux_accept_linked, or clinux_accept_into), and is killed every 5 to 10 ms. Prints how many clients there were,
 * how many of their numbers did not arrive, how many arrived twice, and how many clients saw an error.
 */
#define _GNU_SOURCE
#include "CLinux.h"

#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { CLIENTS = 2, MOST = 16 << 20 };

static struct {
    atomic_uint clients, errors;
    atomic_int is_over;
    unsigned char arrived[MOST];
} *shared;
static struct sockaddr_un address = {.sun_family = AF_UNIX};

static void fail(const char *what) {
    perror(what);
    exit(2);
}

static void *connect_often(void *nothing) {
    while (!shared->is_over && shared->clients < MOST - CLIENTS) {
        int client = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        const unsigned number = atomic_fetch_add(&shared->clients, 1);
        if (client < 0 || connect(client, (struct sockaddr *)&address, sizeof address) != 0
            || write(client, &number, sizeof number) != sizeof number) {
            atomic_fetch_add(&shared->errors, 1);
        }
        close(client);
    }
    return nothing;
}

static pid_t child(void) {
    pid_t id = fork();
    if (id < 0) fail("fork");
    if (id == 0) prctl(PR_SET_PDEATHSIG, SIGKILL);
    return id;
}

static pid_t start_clients(void) {
    pid_t id = child();
    if (id > 0) return id;
    pthread_t threads[CLIENTS];
    for (int i = 0; i < CLIENTS; i++) {
        if (pthread_create(&threads[i], NULL, connect_often, NULL) != 0) _exit(2);
    }
    for (int i = 0; i < CLIENTS; i++) pthread_join(threads[i], NULL);
    _exit(0);
}

static pid_t start_accepting(int listener, int queue, int has_ring) {
    pid_t id = child();
    if (id > 0) return id;
    struct clinux_accept_ring *ring = has_ring ? clinux_accept_ring_open() : NULL;
    if (has_ring && !ring) {
        fprintf(stderr, "the kernel or a sandbox does not allow io_uring\n");
        _exit(3);
    }
    while (1) {
        struct pollfd ready[2] = {{.fd = listener, .events = POLLIN}, {.fd = queue, .events = POLLOUT}};
        /* A queue without room is not what is tried here. */
        if (poll(ready, 2, -1) < 0 || !ready[0].revents || !ready[1].revents) continue;
        int is_in = 0;
        int client = has_ring ? clinux_accept_linked(ring, listener, queue, &is_in)
                              : clinux_accept_into(listener, queue, &is_in);
        if (client < 0 && errno != EAGAIN) _exit(4);
        while (client >= 0 && !is_in) is_in = clinux_send_files(queue, &client, 1) == 0;
        if (client >= 0) close(client);
    }
}

/* Takes the sockets that are in the queue. */
static void take(int queue) {
    int files[CLINUX_FILES_MOST];
    int count;
    while ((count = clinux_receive_files(queue, files, 0)) >= 0) {
        for (int i = 0; i < count; i++) {
            unsigned number;
            struct pollfd ready = {.fd = files[i], .events = POLLIN};
            poll(&ready, 1, 10000);
            if (recv(files[i], &number, sizeof number, MSG_DONTWAIT) == sizeof number && number < MOST) {
                shared->arrived[number] += shared->arrived[number] < 2;
            }
            close(files[i]);
        }
    }
}

static double seconds(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void take_for(int queue, double time) {
    const double end = seconds() + time;
    while (seconds() < end) {
        struct pollfd ready = {.fd = queue, .events = POLLIN};
        if (poll(&ready, 1, 1) > 0) take(queue);
    }
}

static void check(pid_t id, int signal) {
    int status;
    if (waitpid(id, &status, 0) != id) fail("waitpid");
    if (WIFEXITED(status) && (WEXITSTATUS(status) != 0 || signal)) exit(WEXITSTATUS(status));
}

int main(int count, char **words) {
    if (count != 3) return 2;
    const int has_ring = strcmp(words[1], "ring") == 0;
    signal(SIGPIPE, SIG_IGN);
    shared = mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (shared == MAP_FAILED) fail("mmap");
    /* An abstract name leaves nothing behind. */
    snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "penstock-accept-kills-%d", (int)getpid());
    int listener = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0), in, out;
    if (listener < 0 || bind(listener, (struct sockaddr *)&address, sizeof address) != 0) fail("bind");
    if (listen(listener, 4096) != 0) fail("listen");
    if (clinux_socket_pair(&in, &out) != 0) fail("socketpair");
    pid_t clients = start_clients(), accepting = start_accepting(listener, in, has_ring);
    for (int i = atoi(words[2]); i > 0; i--) {
        take_for(out, 0.005 + 0.005 * (rand() / (double)RAND_MAX));
        kill(accepting, SIGKILL);
        check(accepting, SIGKILL);
        accepting = start_accepting(listener, in, has_ring);
    }
    shared->is_over = 1;
    int status;
    while (waitpid(clients, &status, WNOHANG) == 0) take_for(out, 0.01);
    /* What waits to be accepted. */
    struct pollfd waiting = {.fd = listener, .events = POLLIN};
    while (poll(&waiting, 1, 0) > 0) take_for(out, 0.01);
    take_for(out, 0.1);
    kill(accepting, SIGKILL);
    check(accepting, SIGKILL);
    take(out);
    unsigned lost = 0, twice = 0;
    for (unsigned i = 0; i < shared->clients; i++) {
        lost += shared->arrived[i] == 0;
        twice += shared->arrived[i] > 1;
    }
    printf("%u %u %u %u\n", shared->clients, lost, twice, shared->errors);
    return 0;
}
