// A plugin that produces events to a topic of Apache Kafka, one message per event.
//
//   destinations:
//     stream:
//       plugin: kafka
//       settings:
//         brokers: ["k1:9092", "k2:9092"]
//         topic: events.{kind}
//         key: userId
//         compression: zstd
//
// An event is delivered when all in-sync replicas have its message (acks=all); its delivery report tells. The library
// is an idempotent producer, so its own retries neither repeat nor reorder messages. When the library gives up on a
// message, everything that is not delivered yet is withdrawn and offered again, in journal order, to a new producer:
// messages with the same key keep their order, but some may come twice.
//
// It is also a source, a member of a consumer group: the value of each message is one event.
//
//   sources:
//     stream:
//       plugin: kafka
//       settings: { brokers: ["k1:9092"], topics: [events], group: penstock }
//
// The host's journal keeps the offset of each partition with the events, so a restart repeats and loses nothing. What
// is durable there is committed to the group, for its other members.

import CPenstockPlugin
import PenstockPluginKit

/// The only symbol that a host looks for. The compiler checks it against the header.
@c @implementation
public func penstock_plugin_entry(_ hostMajor: UInt32, _ hostMinor: UInt32) -> UnsafePointer<penstock_plugin>! {
    unsafe entry(to: KafkaSink.self, source: KafkaSource.self, hostMajor)
}
