/* The server's side of TLS with OpenSSL's libssl, for Swift, which cannot call its macros. A context holds what all
 * connections of a listener share. A session is one connection on a socket. No call blocks, and none raises SIGPIPE.
 *
 * Contexts may be used by several threads, a session by one at a time. The functions leave nothing in OpenSSL's queue
 * of errors. The header needs none of OpenSSL's. */
#ifndef CTLS_H
#define CTLS_H

#include <stddef.h>
#include <stdint.h>

typedef struct ctls_context ctls_context;
typedef struct ctls_session ctls_session;

/* A text in English without control characters; empty: no failure. */
typedef struct ctls_text {
    char text[256];
} ctls_text;

/* TLS 1.2 or newer; no compression, renegotiation or session tickets. NULL: no memory. */
ctls_context *ctls_context_make(void);
void ctls_context_free(ctls_context *context);

/* Seconds since 1970. */
struct ctls_validity {
    int64_t from, until;
};

/* Each takes the bytes of a PEM file and returns 0, or -1 with the reason. */

/* The server's certificate, then the certificates that lead to a certificate authority. *validity is the time in which
 * all of them are valid. */
int ctls_use_chain(ctls_context *context, const void *pem, size_t count, struct ctls_validity *validity,
                   ctls_text *reason);
/* The private key. It must belong to the context's certificate, if the context has one. */
int ctls_use_key(ctls_context *context, const void *pem, size_t count, ctls_text *reason);
/* The certificate authorities of clients. Clients must then send a certificate. */
int ctls_require_clients(ctls_context *context, const void *pem, size_t count, ctls_text *reason);

/* A connection on a socket, which must stay open as long as the session is used. The session never closes it. NULL: no
 * memory. */
ctls_session *ctls_session_make(ctls_context *context, int socket);
void ctls_session_free(ctls_session *session);

enum ctls_outcome {
    CTLS_DONE,
    /* The socket has no bytes, or takes none. */
    CTLS_BLOCKED,
    /* The peer sends no more. */
    CTLS_END,
    /* The connection cannot be used any more. ctls_failure tells why, unless the peer just left. */
    CTLS_GONE,
};

/* Continue the handshake, then read or write. *moved receives the number of bytes. A write after CTLS_BLOCKED must
 * begin with the same bytes, and have at least as many. */
enum ctls_outcome ctls_read(ctls_session *session, void *bytes, size_t count, size_t *moved);
enum ctls_outcome ctls_write(ctls_session *session, const void *bytes, size_t count, size_t *moved);

/* Sends close_notify, once, if the socket takes it now. */
void ctls_close(ctls_session *session);

int ctls_is_handshaking(const ctls_session *session);
/* The last read was blocked because the socket takes no bytes. */
int ctls_read_wants_write(const ctls_session *session);
/* A read would not wait for the socket. */
int ctls_has_bytes(const ctls_session *session);
/* Why the connection failed; empty: it has not. Lives as long as the session. */
const char *ctls_failure(const ctls_session *session);
/* "TLSv1.3". Never freed. */
const char *ctls_version(const ctls_session *session);

#endif
