// SHA-256's own functions, in place of the EVP ones: OpenSSL 3 calls them deprecated, and keeps them. They
// hash 16 bytes with a key in half of the time, and allocate nothing.
#define OPENSSL_SUPPRESS_DEPRECATED
#include <openssl/crypto.h>
#include <openssl/ec.h>
#include <openssl/err.h>
#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <openssl/pem.h>
#include <openssl/sha.h>
