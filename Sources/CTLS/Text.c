#include "Text.h"

#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <stdio.h>

void ctls_write_text(ctls_text *to, const char *text) {
    size_t i = 0;
    for (; text[i] != 0 && i + 1 < sizeof to->text; i++) {
        to->text[i] = text[i] >= ' ' && text[i] <= '~' ? text[i] : '?';
    }
    to->text[i] = 0;
}

static void write_reason(ctls_text *to, unsigned long code, const char *otherwise) {
    const char *reason = code == 0 ? NULL : ERR_reason_error_string(code);
    ctls_write_text(to, reason != NULL ? reason : otherwise);
}

void ctls_take_reason(ctls_text *to, const char *otherwise) {
    write_reason(to, ERR_peek_error(), otherwise);
    ERR_clear_error();
}

/* The failures that operators meet, in words that name who did what. NULL: OpenSSL's own words must do. */
static const char *explanation(int reason) {
    switch (reason) {
    case SSL_R_HTTP_REQUEST: return "the client sent an HTTP request without TLS: its URL must begin with https";
    case SSL_R_HTTPS_PROXY_REQUEST: return "the client took this port for an HTTP proxy";
    case SSL_R_WRONG_VERSION_NUMBER: return "the client's first bytes are not TLS";
    case SSL_R_UNSUPPORTED_PROTOCOL: return "the client supports neither TLS 1.2 nor TLS 1.3";
    case SSL_R_NO_SHARED_CIPHER: return "the client and Penstock have no cipher in common";
    case SSL_R_PEER_DID_NOT_RETURN_A_CERTIFICATE: return "the client sent no certificate";
    case SSL_R_TLSV1_ALERT_UNKNOWN_CA:
        return "the client does not know the authority of the server's certificate (alert unknown_ca)";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_EXPIRED: return "the client says that the server's certificate has expired";
    case SSL_R_SSLV3_ALERT_BAD_CERTIFICATE: return "the client rejects the server's certificate";
    case SSL_R_SSLV3_ALERT_CERTIFICATE_UNKNOWN:
        return "the client does not trust the server's certificate (alert certificate_unknown)";
    default: return NULL;
    }
}

void ctls_take_failure(ctls_text *to, long verification, const char *otherwise) {
    unsigned long code = ERR_peek_error();
    int reason = ERR_GET_REASON(code);
    const char *words = ERR_GET_LIB(code) == ERR_LIB_SSL ? explanation(reason) : NULL;
    if (words != NULL) {
        ctls_write_text(to, words);
    } else if (ERR_GET_LIB(code) == ERR_LIB_SSL && reason == SSL_R_CERTIFICATE_VERIFY_FAILED) {
        char text[256];
        snprintf(text, sizeof text, "the client's certificate is not accepted: %s",
                 X509_verify_cert_error_string(verification));
        ctls_write_text(to, text);
    } else {
        write_reason(to, code, otherwise);
    }
    ERR_clear_error();
}
