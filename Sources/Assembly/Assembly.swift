// Assembly: turns a validated configuration into the values that the other rooms take.
//
// - `Values/` translates the configuration into the options of Journal, Ingest, Routing, Delivery and Destinations, and
//   adapts Routing to the protocols that Ingest and Delivery declare.
// - `Checks/` checks whether a configuration could be applied on this machine: plugins, paths, access rights, systemd's
//   sockets and sandbox. A check changes nothing.
//
// This room needs no running daemon and no event loop, so the daemon, `penstock check` and `penstock explain` share it.
