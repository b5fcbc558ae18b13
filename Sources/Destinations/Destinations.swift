// Destinations: the kinds of places that events are brought to. `File/` appends to files, `HTTP/`
// sends requests, `Plugin/` calls what others wrote against penstock_plugin.h.
//
// Invariants
// - Each batch is settled exactly once through its claim, event by event where they fared
//   differently; what is not known to have arrived is never called delivered.
// - A destination that may block has a thread of its own. The HTTP ones never wait: their events are routed and their
//   requests built on the few threads of a pool, and one thread, libcurl's, transfers for all of them.
// - Nothing that may hold a secret gets into a reason, a log line or a dead letter's answer.
//
// A destination never reads the journal, never retries by itself and never decides when to give
// up: that is Delivery's.
