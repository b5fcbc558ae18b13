#include "CTLS.h"
#include "Text.h"

#include <openssl/asn1.h>
#include <openssl/bio.h>
#include <openssl/err.h>
#include <openssl/pem.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <limits.h>
#include <string.h>
#include <time.h>

/* RFC 7301: HTTP/1.1 is the only protocol. A client that offers others alone gets no answer, and may go on. */
static int choose_protocol(SSL *ssl, const unsigned char **out, unsigned char *size, const unsigned char *in,
                           unsigned int count, void *context) {
    static const unsigned char mine[] = "\x08http/1.1";
    (void)ssl;
    (void)context;
    unsigned char *chosen;
    if (SSL_select_next_proto(&chosen, size, mine, sizeof mine - 1, in, count) != OPENSSL_NPN_NEGOTIATED) {
        return SSL_TLSEXT_ERR_NOACK;
    }
    *out = chosen;
    return SSL_TLSEXT_ERR_OK;
}

ctls_context *ctls_context_make(void) {
    SSL_CTX *context = SSL_CTX_new(TLS_server_method());
    if (context != NULL && SSL_CTX_set_min_proto_version(context, TLS1_2_VERSION) == 1) {
        /* An end without close_notify counts as an end: HTTP's own framing shows a truncated request. */
        SSL_CTX_set_options(context, SSL_OP_NO_COMPRESSION | SSL_OP_NO_RENEGOTIATION | SSL_OP_NO_TICKET
                                         | SSL_OP_CIPHER_SERVER_PREFERENCE | SSL_OP_IGNORE_UNEXPECTED_EOF);
        SSL_CTX_set_session_cache_mode(context, SSL_SESS_CACHE_OFF);
        SSL_CTX_set_num_tickets(context, 0);
        /* An idle connection holds no buffers. */
        SSL_CTX_set_mode(context, SSL_MODE_ENABLE_PARTIAL_WRITE | SSL_MODE_ACCEPT_MOVING_WRITE_BUFFER
                                      | SSL_MODE_RELEASE_BUFFERS);
        /* A read returns after each record, so that a client that sends only records without data cannot hold the
         * thread. */
        SSL_CTX_clear_mode(context, SSL_MODE_AUTO_RETRY);
        SSL_CTX_set_alpn_select_cb(context, choose_protocol, NULL);
        ERR_clear_error();
        return (ctls_context *)context;
    }
    SSL_CTX_free(context);
    ERR_clear_error();
    return NULL;
}

void ctls_context_free(ctls_context *context) { SSL_CTX_free((SSL_CTX *)context); }

/* Without it, OpenSSL would ask for an encrypted key's passphrase on the terminal. */
static int no_passphrase(char *buffer, int size, int is_writing, void *was_asked) {
    (void)buffer;
    (void)size;
    (void)is_writing;
    if (was_asked != NULL) *(int *)was_asked = 1;
    return -1;
}

/* NULL if there are no bytes: OpenSSL would read a string. */
static BIO *reader(const void *pem, size_t count, ctls_text *reason) {
    BIO *bio = count > 0 && count <= INT_MAX ? BIO_new_mem_buf(pem, (int)count) : NULL;
    if (bio == NULL) ctls_take_reason(reason, "it is empty");
    return bio;
}

/* Whether reading stopped because no certificate is left. Otherwise one is damaged. */
static int is_at_end(void) {
    unsigned long code = ERR_peek_last_error();
    int is_end = ERR_GET_LIB(code) == ERR_LIB_PEM && ERR_GET_REASON(code) == PEM_R_NO_START_LINE;
    if (is_end) ERR_clear_error();
    return is_end;
}

/* A time that cannot be read counts as never. */
static int64_t seconds(const ASN1_TIME *time, int64_t otherwise) {
    struct tm fields;
    return time != NULL && ASN1_TIME_to_tm(time, &fields) == 1 ? (int64_t)timegm(&fields) : otherwise;
}

static void narrow(struct ctls_validity *validity, const X509 *certificate) {
    int64_t from = seconds(X509_get0_notBefore(certificate), INT64_MAX);
    int64_t until = seconds(X509_get0_notAfter(certificate), INT64_MIN);
    if (from > validity->from) validity->from = from;
    if (until < validity->until) validity->until = until;
}

int ctls_use_chain(ctls_context *opaque, const void *pem, size_t count, struct ctls_validity *validity,
                   ctls_text *reason) {
    SSL_CTX *context = (SSL_CTX *)opaque;
    *validity = (struct ctls_validity){.from = INT64_MIN, .until = INT64_MAX};
    ERR_clear_error();
    BIO *bio = reader(pem, count, reason);
    if (bio == NULL) return -1;
    X509 *certificate = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
    int is_valid = certificate != NULL;
    if (!is_valid && is_at_end()) {
        ctls_write_text(reason, "it has no certificate in PEM format");
        BIO_free(bio);
        return -1;
    }
    if (is_valid) {
        narrow(validity, certificate);
        is_valid = SSL_CTX_use_certificate(context, certificate) == 1;
        X509_free(certificate);
    }
    while (is_valid) {
        X509 *next = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
        if (next == NULL) {
            is_valid = is_at_end();
            break;
        }
        narrow(validity, next);
        is_valid = SSL_CTX_add0_chain_cert(context, next) == 1;
        if (!is_valid) X509_free(next);
    }
    BIO_free(bio);
    if (!is_valid) ctls_take_reason(reason, "it cannot be read");
    ERR_clear_error();
    return is_valid ? 0 : -1;
}

int ctls_use_key(ctls_context *opaque, const void *pem, size_t count, ctls_text *reason) {
    SSL_CTX *context = (SSL_CTX *)opaque;
    ERR_clear_error();
    BIO *bio = reader(pem, count, reason);
    if (bio == NULL) return -1;
    int was_asked = 0;
    EVP_PKEY *key = PEM_read_bio_PrivateKey(bio, NULL, no_passphrase, &was_asked);
    BIO_free(bio);
    int result = -1;
    if (was_asked) {
        ctls_write_text(reason, "it is encrypted with a passphrase");
    } else if (key == NULL && (is_at_end() || ERR_GET_REASON(ERR_peek_last_error()) == ERR_R_UNSUPPORTED)) {
        /* The decoder also says "unsupported" to a file without a key. */
        ctls_write_text(reason, "it has no readable private key in PEM format");
    } else if (key == NULL) {
        ctls_take_reason(reason, "it cannot be read");
    } else {
        X509 *certificate = SSL_CTX_get0_certificate(context);
        if (certificate != NULL && X509_check_private_key(certificate, key) != 1) {
            ctls_write_text(reason, "it does not belong to the certificate");
        } else if (SSL_CTX_use_PrivateKey(context, key) != 1) {
            ctls_take_reason(reason, "it cannot be used");
        } else {
            result = 0;
        }
    }
    EVP_PKEY_free(key);
    ERR_clear_error();
    return result;
}

int ctls_require_clients(ctls_context *opaque, const void *pem, size_t count, ctls_text *reason) {
    SSL_CTX *context = (SSL_CTX *)opaque;
    ERR_clear_error();
    BIO *bio = reader(pem, count, reason);
    if (bio == NULL) return -1;
    X509_STORE *store = SSL_CTX_get_cert_store(context);
    int found = 0, is_valid = 1;
    while (is_valid) {
        X509 *authority = PEM_read_bio_X509(bio, NULL, no_passphrase, NULL);
        if (authority == NULL) {
            is_valid = is_at_end();
            break;
        }
        found = 1;
        /* The list of names helps a client that has several certificates. */
        is_valid = X509_STORE_add_cert(store, authority) == 1 && SSL_CTX_add_client_CA(context, authority) == 1;
        X509_free(authority);
    }
    BIO_free(bio);
    if (!is_valid) {
        ctls_take_reason(reason, "it cannot be read");
    } else if (!found) {
        ctls_write_text(reason, "it has no certificate in PEM format");
    } else {
        SSL_CTX_set_verify(context, SSL_VERIFY_PEER | SSL_VERIFY_FAIL_IF_NO_PEER_CERT, NULL);
    }
    ERR_clear_error();
    return is_valid && found ? 0 : -1;
}
