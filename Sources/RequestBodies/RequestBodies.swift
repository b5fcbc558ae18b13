// RequestBodies: turns the body of an HTTP request into events, one on each line, as they are stored.
//
// - Pure: bytes in, bytes out. Ingest knows the connection, and checks each line like any other (`EventScanner`).
// - An event's bytes stay as the client sent them, but for what its request adds to it (its type, the fields of its
//   batch) or takes from it (a write key, which is a secret).
// - Memory, time and nesting are bounded for every body, the decompressed one included.
