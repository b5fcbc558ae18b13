// A plugin that writes events to the journal of systemd, one entry per event.
//
//   destinations:
//     audit:
//       plugin: journald
//       settings: { priority: notice, fields: { ORDER_ID: properties.order_id } }
//
//   $ journalctl SYSLOG_IDENTIFIER=penstock EVENT='Order Completed'
//
// journald has no acknowledgements: an event is delivered when it is in journald's socket.
//
// It is also a source: each entry of a journal becomes an event.
//
//   sources:
//     logs:
//       plugin: journald
//       settings: { units: [nginx], priority: warning }

import CPenstockPlugin
import PenstockPluginKit

/// The only symbol that a host looks for. The compiler checks it against the header.
@c @implementation
public func penstock_plugin_entry(_ hostMajor: UInt32, _ hostMinor: UInt32) -> UnsafePointer<penstock_plugin>! {
    unsafe entry(to: JournaldSink.self, source: JournaldSource.self, hostMajor)
}
