// A sink plugin that publishes each event to a topic of an MQTT broker.
//
//   destinations:
//     devices:
//       plugin: mqtt
//       settings: { address: "127.0.0.1:1883", topic: "analytics/{kind}/{event}" }
//
// MQTT 5 with QoS 1: an event is delivered when the broker has acknowledged it (PUBACK). A window of messages is in
// flight. If the connection ends, the events without an acknowledgement are offered again: at least once.

import CPenstockPlugin
import PenstockPluginKit

/// The only symbol that a host looks for. The compiler checks it against the header.
@c @implementation
public func penstock_plugin_entry(_ hostMajor: UInt32, _ hostMinor: UInt32) -> UnsafePointer<penstock_plugin>! {
    unsafe entry(to: MQTTSink.self, hostMajor)
}
