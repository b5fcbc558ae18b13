#include "CTLS.h"
#include "Text.h"

#include <errno.h>
#include <limits.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

/* The most records without data that one read handles. */
enum { MOST_EMPTY_RECORDS = 16 };

struct ctls_session {
    SSL *ssl;
    int socket;
    /* The socket had no bytes, or took none, in the current call. */
    int was_blocked;
    /* The errno of a failed call on the socket. */
    int error;
    int is_established, wants_write, has_more, has_ended, is_closed, is_gone;
    ctls_text failure;
};

/* Bytes between OpenSSL and the socket. OpenSSL's own BIO for sockets writes with write(2), which raises SIGPIPE. */

static int socket_read(BIO *bio, char *bytes, int count) {
    ctls_session *session = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (bytes == NULL || count <= 0) return 0;
    ssize_t got;
    do {
        got = recv(session->socket, bytes, (size_t)count, MSG_DONTWAIT);
    } while (got < 0 && errno == EINTR);
    if (got > 0) return (int)got;
    if (got == 0) {
        session->has_ended = 1;
        return 0;
    }
    if (errno == EAGAIN) {
        session->was_blocked = 1;
        BIO_set_retry_read(bio);
    } else {
        session->error = errno;
    }
    return -1;
}

static int socket_write(BIO *bio, const char *bytes, int count) {
    ctls_session *session = BIO_get_data(bio);
    BIO_clear_retry_flags(bio);
    if (bytes == NULL || count <= 0) return 0;
    ssize_t sent;
    do {
        sent = send(session->socket, bytes, (size_t)count, MSG_NOSIGNAL | MSG_DONTWAIT);
    } while (sent < 0 && errno == EINTR);
    if (sent >= 0) return (int)sent;
    if (errno == EAGAIN || errno == ENOBUFS) {
        session->was_blocked = 1;
        BIO_set_retry_write(bio);
    } else {
        session->error = errno;
    }
    return -1;
}

static long socket_control(BIO *bio, int command, long number, void *pointer) {
    (void)number;
    (void)pointer;
    const ctls_session *session = BIO_get_data(bio);
    switch (command) {
    case BIO_CTRL_FLUSH: return 1;
    case BIO_CTRL_EOF: return session->has_ended;
    default: return 0;
    }
}

static BIO_METHOD *method;

static void make_method(void) {
    int type = BIO_get_new_index();
    BIO_METHOD *made = type == -1 ? NULL : BIO_meth_new(type | BIO_TYPE_SOURCE_SINK, "penstock socket");
    if (made == NULL) return;
    if (BIO_meth_set_read(made, socket_read) == 1 && BIO_meth_set_write(made, socket_write) == 1
        && BIO_meth_set_ctrl(made, socket_control) == 1) {
        method = made;
    } else {
        BIO_meth_free(made);
    }
}

/* One call may finish the handshake and then fail, after which OpenSSL counts as in a handshake again. */
static void note_state(const SSL *ssl, int where, int result) {
    (void)result;
    ctls_session *session = SSL_get_app_data(ssl);
    if ((where & SSL_CB_HANDSHAKE_DONE) != 0) session->is_established = 1;
}

ctls_session *ctls_session_make(ctls_context *context, int socket) {
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, make_method);
    ctls_session *session = calloc(1, sizeof *session);
    SSL *ssl = session == NULL ? NULL : SSL_new((SSL_CTX *)context);
    BIO *bio = ssl == NULL || method == NULL ? NULL : BIO_new(method);
    if (bio == NULL) {
        SSL_free(ssl);
        free(session);
        ERR_clear_error();
        return NULL;
    }
    session->ssl = ssl;
    session->socket = socket;
    BIO_set_data(bio, session);
    BIO_set_init(bio, 1);
    SSL_set_bio(ssl, bio, bio);
    SSL_set_app_data(ssl, session);
    SSL_set_info_callback(ssl, note_state);
    SSL_set_accept_state(ssl);
    return session;
}

void ctls_session_free(ctls_session *session) {
    SSL_free(session->ssl);
    ERR_clear_error();
    free(session);
}

/* The connection failed. A client that only left gives no reason after the handshake. */
static enum ctls_outcome fail(ctls_session *session) {
    session->is_gone = 1;
    session->wants_write = 0;
    session->has_more = 0;
    if (session->error != 0 || session->has_ended) {
        ERR_clear_error();
        if (!session->is_established) {
            ctls_write_text(&session->failure, "the client closed the connection during the handshake");
        }
    } else {
        ctls_take_failure(&session->failure, SSL_get_verify_result(session->ssl), "TLS failed for an unknown reason");
    }
    return CTLS_GONE;
}

/* The outcome of a call that returned no bytes. */
static enum ctls_outcome stop(ctls_session *session, int result) {
    switch (SSL_get_error(session->ssl, result)) {
    case SSL_ERROR_WANT_READ:
    case SSL_ERROR_WANT_WRITE: return CTLS_BLOCKED;
    case SSL_ERROR_ZERO_RETURN:
        if (session->is_established) return CTLS_END;
        session->has_ended = 1;
        return fail(session);
    default: return fail(session);
    }
}

enum ctls_outcome ctls_read(ctls_session *session, void *bytes, size_t count, size_t *moved) {
    *moved = 0;
    if (session->is_gone) return CTLS_GONE;
    session->wants_write = 0;
    session->has_more = 0;
    for (int turn = 0; turn < MOST_EMPTY_RECORDS; turn++) {
        session->was_blocked = 0;
        ERR_clear_error();
        int result = SSL_read_ex(session->ssl, bytes, count, moved);
        if (result == 1) return CTLS_DONE;
        *moved = 0;
        enum ctls_outcome outcome = stop(session, result);
        if (outcome != CTLS_BLOCKED) return outcome;
        session->wants_write = SSL_want_write(session->ssl);
        if (session->was_blocked) return CTLS_BLOCKED;
    }
    session->has_more = 1;
    return CTLS_BLOCKED;
}

enum ctls_outcome ctls_write(ctls_session *session, const void *bytes, size_t count, size_t *moved) {
    *moved = 0;
    if (session->is_gone) return CTLS_GONE;
    while (*moved < count) {
        size_t sent = 0;
        ERR_clear_error();
        int result = SSL_write_ex(session->ssl, (const char *)bytes + *moved, count - *moved, &sent);
        if (result == 1) {
            *moved += sent;
            continue;
        }
        enum ctls_outcome outcome = stop(session, result);
        /* Bytes of this call that were sent count; the next call reports the failure. */
        if (outcome == CTLS_BLOCKED || *moved > 0) return *moved > 0 ? CTLS_DONE : CTLS_BLOCKED;
        return CTLS_GONE;
    }
    return CTLS_DONE;
}

void ctls_close(ctls_session *session) {
    if (session->is_closed || session->is_gone || !session->is_established) return;
    session->is_closed = 1;
    ERR_clear_error();
    SSL_shutdown(session->ssl);
    ERR_clear_error();
}

int ctls_is_handshaking(const ctls_session *session) {
    return !session->is_gone && !session->is_established;
}

int ctls_read_wants_write(const ctls_session *session) { return session->wants_write; }

int ctls_has_bytes(const ctls_session *session) {
    return !session->is_gone && (session->has_more || SSL_pending(session->ssl) > 0);
}

const char *ctls_failure(const ctls_session *session) { return session->failure.text; }

const char *ctls_version(const ctls_session *session) { return SSL_get_version(session->ssl); }
