// FleetFormat: how a batch of events travels from an edge to an aggregator in one message of a broker.
//
// A message has header fields, which anyone can read, and a body:
//
//     penstock-format   1
//     penstock-edge     the UUID of the edge's journal
//     penstock-sequence the destination's name, the partition and the number of partitions: bus 7/64
//     penstock-first    the place of the first event in that journal: its position, and /part if it is not 0
//     penstock-last     the place of the last one
//     penstock-events   their number
//     penstock-host     the edge's host name
//     penstock-backfill 1, if the events are repeated on purpose: a replay, or retried dead letters
//
// The body is a frame of zstd with a checksum. It contains a table, and behind it the events as NDJSON, so that
// `zstd -dc | tail -n EVENTS` shows them. The table begins with the number of events (u32, little-endian). For each
// event follow three varints (as in Protocol Buffers): the distance of its position from the one of the event before,
// its part, and the distance of its receive time from the one before in nanoseconds, in zigzag form. The first event
// counts from 0.
//
// Exactly once rests on the places: they rise within a message, and from message to message with the same edge and
// sequence. Those are the origin of the events. A place that another destination of the edge has passed, or another
// partition, says nothing, and neither does the same partition while their number was another one.
//
// An
// edge sends the messages of a partition one after the other, each when the one before is acknowledged, and sends again
// what was not, before anything later. An aggregator stores the last place of each origin with the events,
// in one commit, and drops what is not above it. So nothing that a broker, an edge or a restart repeats is stored
// twice.
//
// This room knows no broker.

/// The names of the header fields.
package enum FleetHeader {
    package static let format = "penstock-format"
    package static let edge = "penstock-edge"
    package static let sequence = "penstock-sequence"
    package static let first = "penstock-first"
    package static let last = "penstock-last"
    package static let events = "penstock-events"
    package static let host = "penstock-host"
    package static let backfill = "penstock-backfill"

    /// The version of the format.
    package static let version = "1"

    /// Whether a text can be a header field, and an aggregator takes it for the name of a host.
    package static func isHost(_ name: String) -> Bool {
        (1...255).contains(name.utf8.count) && name.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F }
    }
}

/// The place of an event in the journal of its edge.
package struct FleetPlace: Sendable, Hashable, Comparable {
    package var position: UInt64
    package var part: UInt32

    package init(position: UInt64, part: UInt32) {
        self.position = position
        self.part = part
    }

    package static func < (one: FleetPlace, other: FleetPlace) -> Bool {
        (one.position, one.part) < (other.position, other.part)
    }

    /// As in a header field.
    package var text: String { part == 0 ? "\(position)" : "\(position)/\(part)" }
}

/// Which partition an event belongs to: all events of a user belong to one.
package enum FleetPartition {
    /// - Parameters:
    ///   - user: the user's id, or the anonymous id without one; empty: there is neither.
    ///   - position: spreads the events without a user.
    ///   - count: at least 1.
    package static func of(_ user: some Sequence<UInt8>, position: UInt64, count: Int) -> Int {
        var hash: UInt64 = 0xCBF2_9CE4_8422_2325
        var isEmpty = true
        for byte in user {
            hash = (hash ^ UInt64(byte)) &* 0x100_0000_01B3
            isEmpty = false
        }
        if isEmpty { hash = position }
        // The low bits of FNV-1a alone are not spread well.
        return Int(FleetOrigin.mixed(hash) % UInt64(max(count, 1)))
    }
}
