// A sink plugin that writes events to a table of a PostgreSQL database, one row per event.
//
//   destinations:
//     warehouse:
//       plugin: postgres
//       settings:
//         dsn: !secret warehouse_dsn        # postgresql://penstock:PASSWORD@db.example.com/analytics
//         table: analytics.events
//         columns:                          # optional; default: the columns of `Column.standard`
//           - { name: user_id, path: userId }
//           - { name: total, path: properties.total, type: double precision }
//           - { name: event, path: $, type: jsonb }
//
// Exactly once: rows and position are written in one transaction, the host reads the position (penstock.position/1),
// and the primary key (position, part) makes a repeated event one row.
//
//   PostgresSink        the plugin's instance: outcomes, and the errors that the operator sees
//   EventTable          writes a batch: COPY, or event by event if PostgreSQL rejects some (RowSeparation)
//   TableSetup          creates and checks the tables when the connection opens
//   EventEncoder        reads the columns' values from an event, into EventRows
//   Connection          libpq with a deadline for every wait

import CPenstockPlugin
import PenstockPluginKit

/// The only symbol that a host looks for. The compiler checks it against the header.
@c @implementation
public func penstock_plugin_entry(_ hostMajor: UInt32, _ hostMinor: UInt32) -> UnsafePointer<penstock_plugin>! {
    unsafe entry(to: PostgresSink.self, hostMajor)
}
