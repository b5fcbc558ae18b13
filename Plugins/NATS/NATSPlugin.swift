// A plugin for NATS JetStream, one message per event. As a sink it publishes events, and as a source it brings the
// messages of a stream in.
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
//
//   sources:
//     edges:
//       plugin: nats
//       settings:
//         servers: ["nats://n1:4222", "nats://n2:4222", "nats://n3:4222"]
//         stream: EVENTS
//         consumer: aggregators
//         subjects: [events.0, events.1, events.2, events.3]
//
// The truth about what was read is the position in the host's journal. A message is acknowledged when its event is
// durable there, which tells the broker that it may forget it, and other hosts that they need not read it. Hosts that
// share a consumer's name share the lanes by leases (NATSLeases).

import CPenstockPlugin
import PenstockPluginKit

/// The only symbol that a host looks for. The compiler checks it against the header.
@c @implementation
public func penstock_plugin_entry(_ hostMajor: UInt32, _ hostMinor: UInt32) -> UnsafePointer<penstock_plugin>! {
    unsafe entry(to: NATSSink.self, source: NATSSource.self, hostMajor)
}
