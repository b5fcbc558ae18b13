// A sink plugin that writes events to a table of an SQLite database, one row per event.
//
//   destinations:
//     warehouse:
//       plugin: sqlite
//       settings: { path: /var/lib/penstock/events.db, table: events }
//
// Exactly once: rows and position are written in one transaction, and the host reads the position
// (penstock.position/1).

import CPenstockPlugin
import PenstockPluginKit

/// The only symbol that a host looks for. The compiler checks it against the header.
@c @implementation
public func penstock_plugin_entry(_ hostMajor: UInt32, _ hostMinor: UInt32) -> UnsafePointer<penstock_plugin>! {
    unsafe entry(to: SQLiteSink.self, hostMajor)
}
