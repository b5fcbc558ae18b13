// A sink plugin that appends events to Redis streams, one entry per event.
//
//   destinations:
//     live:
//       plugin: redis
//       settings: { address: "127.0.0.1:6379", stream: "events.{kind}", max_length: 1000000 }
//
// A batch is one transaction (MULTI ... EXEC), written at once; the replies are read after it. So a batch is stored as
// a whole and in order, or not at all. If the connection ends before the reply, the batch is offered again: at least
// once.
// With exactly_once: true, a transaction is a script that also stores the position (penstock.position/1).

import CPenstockPlugin
import PenstockPluginKit

/// The only symbol that a host looks for. The compiler checks it against the header.
@c @implementation
public func penstock_plugin_entry(_ hostMajor: UInt32, _ hostMinor: UInt32) -> UnsafePointer<penstock_plugin>! {
    unsafe entry(to: RedisSink.self, hostMajor)
}
