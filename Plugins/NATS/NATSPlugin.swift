// A sink plugin that publishes events to NATS JetStream, one message per event.
//
//   destinations:
//     bus:
//       plugin: nats
//       settings:
//         servers: ["nats://n1:4222", "nats://n2:4222", "nats://n3:4222"]
//         subject: events.{kind}.{event}
//         stream: EVENTS
//         create: true
//         replicas: 3
//
// An event is delivered when JetStream has acknowledged its message: a quorum of the stream's replicas has it. The
// header Nats-Msg-Id identifies the event, so a message that comes again within the stream's duplicate window is stored
// once. A connection that is lost settles its events as retry, and the host connects again: the library's own
// reconnection, which would hide the error from the operator, is off.

import CPenstockPlugin
import PenstockPluginKit

/// The only symbol that a host looks for. The compiler checks it against the header.
@c @implementation
public func penstock_plugin_entry(_ hostMajor: UInt32, _ hostMinor: UInt32) -> UnsafePointer<penstock_plugin>! {
    unsafe entry(to: NATSSink.self, hostMajor)
}
