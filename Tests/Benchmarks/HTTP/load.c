/* Sends events to a Unix socket as fast as the daemon takes them, and waits until all are acknowledged.
 *
 * usage: load ndjson|http SOCKET EVENTS CONNECTIONS BATCH
 *
 * ndjson: lines, with acknowledgements. http: requests of BATCH events, of which each connection has two on the way.
 * Prints the seconds from the first byte to the last answer. Exits with 1 if an event was refused. */
#define _GNU_SOURCE
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

static const char *path;
static int is_http;
static long events_each, batch;

static void fail(const char *what) {
    perror(what);
    exit(1);
}

static int dial(void) {
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    strncpy(address.sun_path, path, sizeof address.sun_path - 1);
    int file = socket(AF_UNIX, SOCK_STREAM, 0);
    if (file < 0 || connect(file, (struct sockaddr *)&address, sizeof address) < 0) fail(path);
    return file;
}

/* About 640 bytes, as an application would send it. */
static size_t write_event(char *out, long connection, long number) {
    return (size_t)sprintf(out,
        "{\"type\":\"track\",\"event\":\"Product Viewed\",\"userId\":\"user-%06ld\",\"anonymousId\":"
        "\"a8d1f0c2-5d1e-4f7b-9f53-%012ld\",\"messageId\":\"%08lx-%08lx\",\"timestamp\":\"2026-01-31T12:00:00.000Z\","
        "\"properties\":{\"product_id\":\"507f1f77bcf86cd7%08ld\",\"sku\":\"G-32\",\"category\":\"Games\",\"name\":"
        "\"Monopoly: 3rd Edition\",\"brand\":\"Hasbro\",\"variant\":\"200 pieces\",\"price\":18.99,\"quantity\":1,\"coupon\":"
        "\"MAYDEALS\",\"currency\":\"usd\",\"position\":%ld,\"value\":18.99},\"context\":{\"app\":{\"name\":\"shop\",\"version\":"
        "\"4.1.0\"},\"os\":{\"name\":\"Linux\",\"version\":\"6.1.90\"},\"locale\":\"en-US\",\"ip\":\"203.0.113.7\",\"screen\":"
        "{\"width\":1080,\"height\":2400}}}",
        number % 1000000, number, connection, number, number, number % 50);
}

static void send_all(int file, const char *bytes, size_t count) {
    while (count > 0) {
        ssize_t sent = send(file, bytes, count, MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) fail("send");
        bytes += sent;
        count -= (size_t)sent;
    }
}

/* Reads one answer of HTTP, all of whose answers here are short. */
static void read_answer(FILE *answers) {
    char line[4096];
    long length = 0;
    if (!fgets(line, sizeof line, answers)) fail("no answer");
    if (strncmp(line, "HTTP/1.1 200 ", 13) != 0) {
        fprintf(stderr, "%s", line);
        exit(1);
    }
    while (fgets(line, sizeof line, answers) && strcmp(line, "\r\n") != 0) {
        if (strncasecmp(line, "content-length:", 15) == 0) length = strtol(line + 15, NULL, 10);
    }
    if (length >= (long)sizeof line || fread(line, 1, (size_t)length, answers) != (size_t)length) fail("answer");
    line[length] = 0;
    if (strstr(line, "refused")) {
        fprintf(stderr, "%s", line);
        exit(1);
    }
}

static void speak_http(int file, long connection) {
    FILE *answers = fdopen(dup(file), "r");
    char *body = malloc((size_t)batch * 800 + 4096);
    int waiting = 0;
    for (long sent = 0; sent < events_each; sent += batch) {
        size_t at = (size_t)sprintf(body, "{\"batch\":[");
        for (long k = 0; k < batch; k++) {
            if (k > 0) body[at++] = ',';
            at += write_event(body + at, connection, sent + k);
        }
        at += (size_t)sprintf(body + at, "],\"sentAt\":\"2026-01-31T12:00:01.000Z\"}");
        char head[200];
        int size = sprintf(head, "POST /v1/batch HTTP/1.1\r\nHost: a\r\nContent-Type: application/json\r\nContent-Length: %zu\r\n\r\n", at);
        send_all(file, head, (size_t)size);
        send_all(file, body, at);
        if (++waiting == 2) {
            read_answer(answers);
            waiting--;
        }
    }
    while (waiting-- > 0) read_answer(answers);
    free(body);
    fclose(answers);
}

static void *read_acknowledgements(void *argument) {
    FILE *answers = fdopen(dup((int)(long)argument), "r");
    char line[4096];
    long settled = 0;
    while (settled < events_each) {
        if (!fgets(line, sizeof line, answers)) fail("acknowledgement");
        if (sscanf(line, "{\"ack\":%ld}", &settled) != 1) {
            fprintf(stderr, "%s", line);
            exit(1);
        }
    }
    fclose(answers);
    return NULL;
}

static void speak_ndjson(int file, long connection) {
    pthread_t reader;
    send_all(file, "{\"penstock\":{\"acks\":true}}\n", 27);
    pthread_create(&reader, NULL, read_acknowledgements, (void *)(long)file);
    char *bytes = malloc((size_t)batch * 800);
    for (long sent = 0; sent < events_each; sent += batch) {
        size_t at = 0;
        for (long k = 0; k < batch; k++) {
            at += write_event(bytes + at, connection, sent + k);
            bytes[at++] = '\n';
        }
        send_all(file, bytes, at);
    }
    pthread_join(reader, NULL);
    free(bytes);
}

static void *run(void *argument) {
    int file = dial();
    (is_http ? speak_http : speak_ndjson)(file, (long)argument);
    close(file);
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 6) {
        fprintf(stderr, "usage: load ndjson|http SOCKET EVENTS CONNECTIONS BATCH\n");
        return 2;
    }
    is_http = strcmp(arguments[1], "http") == 0;
    path = arguments[2];
    long connections = atol(arguments[4]);
    batch = atol(arguments[5]);
    events_each = atol(arguments[3]) / connections / batch * batch;
    pthread_t threads[connections];
    struct timespec began, ended;
    clock_gettime(CLOCK_MONOTONIC, &began);
    for (long k = 0; k < connections; k++) pthread_create(&threads[k], NULL, run, (void *)k);
    for (long k = 0; k < connections; k++) pthread_join(threads[k], NULL);
    clock_gettime(CLOCK_MONOTONIC, &ended);
    printf("%ld %.6f\n", events_each * connections,
           (double)(ended.tv_sec - began.tv_sec) + (double)(ended.tv_nsec - began.tv_nsec) / 1e9);
    return 0;
}
