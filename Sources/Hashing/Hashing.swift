// Hashing: SHA-256 and HMAC, with libcrypto. It hashes texts in memory, allocates nothing for each, and does nothing
// else; a signature that needs another algorithm is made where it is needed. It has no threads.
