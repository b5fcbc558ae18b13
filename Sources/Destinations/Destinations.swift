// Destinations: the sinks that events are delivered to. `File/` appends to files, `HTTP/` sends requests, and `Plugin/`
// calls sink plugins written against penstock_plugin.h. `Presets/` describes known services for the HTTP destination.
//
// `HTTP/` itself holds the destination and its options. `Request/` builds the requests, `Signing/` signs them, `Curl/`
// sends them with libcurl, and `Response/` decides what a response means for the events.
//
// Invariants
// - Each batch is settled exactly once, through its claim. If its events had different outcomes, it is settled event by
//   event. An event counts as delivered only if its arrival is confirmed.
// - A destination that may block has its own thread. HTTP destinations never block: a small thread pool routes their
//   events and builds their requests, and a single thread runs libcurl's transfers for all of them.
// - A plugin or a file that is ahead of the journal (the journal is an older copy) neither skips a new event nor loses
//   an old one: the plugin is not opened, and what is cut from the file is kept beside it (PositionBound).
// - No secret appears in a reason, a log line or the response kept with a dead letter.
//
// A destination never reads the journal, never retries by itself and never decides when to give up. Delivery does all
// three.
