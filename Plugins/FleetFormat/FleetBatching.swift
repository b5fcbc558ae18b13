import EventTemplates
import Events
import Glibc
import PenstockPluginKit

/// Makes the messages of a destination's batches. Belongs to one thread at a time.
package final class FleetBatching {
    /// The journal of this host: the edge.
    private let edge: String
    private let destination: String
    private let host: String
    private let level: Int?
    private let fields = EventFields()
    private let user: Int
    private let anonymous: Int
    private var writer: FleetWriter?
    private var limit = 0
    private var key: [UInt8] = []

    /// - Parameters:
    ///   - journal: its UUID.
    ///   - destination: its name.
    ///   - level: of zstd, -7 to 19; nil: what suits events best.
    /// - Throws: the journal has no UUID.
    package init(journal: String, destination: String, level: Int?) throws(SinkError) {
        guard journal.utf8.count == 36 else {
            throw SinkError("settings.format: penstock needs the id of the host's journal, and there is none")
        }
        edge = journal
        // A header field is one line of ASCII.
        self.destination = destination.utf8.allSatisfy { $0 > 0x20 && $0 < 0x7F } ? destination : "destination"
        self.level = level
        user = fields.add(FieldPath(["userId"]))
        anonymous = fields.add(FieldPath(["anonymousId"]))
        var name = [CChar](repeating: 0, count: 256)
        unsafe gethostname(&name, name.count - 1)
        let text = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        host = FleetHeader.isHost(text) ? text : ""
    }

    /// Sets the bounds of the next messages.
    /// - Parameters:
    ///   - partitions: their number; another one moves users to other partitions.
    ///   - limit: the most bytes of a compressed body.
    package func begin(partitions: Int, limit: Int) {
        guard writer?.partitions != max(partitions, 1) || self.limit != limit else { return }
        self.limit = limit
        writer = FleetWriter(partitions: max(partitions, 1), level: level, limit: max(limit, 1))
    }

    /// - Precondition: `begin` was called.
    /// - Returns: the messages, those of a partition one after the other; and the indexes of events that are too large
    ///   for any message.
    package func messages(of batch: Batch) -> (messages: [FleetMessage], tooLarge: [Int]) {
        guard let writer else { preconditionFailure("messages were made before their bounds were known") }
        unsafe batch.withUnsafeEvents { index, event in
            let position = unsafe event.position
            unsafe writer.add(
                index, to: partition(of: event, position, writer.partitions),
                FleetPlace(position: position, part: event.part), receivedAt: event.receivedAt, event.payload)
        }
        return writer.finish()
    }

    /// The header fields of a message.
    package func headers(of message: FleetMessage, isBackfill: Bool) -> [(name: String, value: String)] {
        var headers = [
            (FleetHeader.format, FleetHeader.version), (FleetHeader.edge, edge),
            (FleetHeader.sequence, "\(destination) \(message.partition)/\(writer?.partitions ?? 0)"),
            (FleetHeader.first, message.first.text), (FleetHeader.last, message.last.text),
            (FleetHeader.events, "\(message.events.count)"),
        ]
        if !host.isEmpty { headers.append((FleetHeader.host, host)) }
        if isBackfill { headers.append((FleetHeader.backfill, "1")) }
        return headers
    }

    private func partition(of event: borrowing UnsafeEvent, _ position: UInt64, _ count: Int) -> Int {
        // The host has mostly found it. What contains escapes is looked up, because the text decides, not its spelling.
        let user = unsafe event.user
        if let text = user.baseAddress, unsafe !user.isEmpty,
            unsafe memchr(text, Int32(UInt8(ascii: "\\")), user.count) == nil
        {
            return unsafe FleetPartition.of(user, position: position, count: count)
        }
        unsafe readKey(event.payload.bindMemory(to: UInt8.self).span)
        return FleetPartition.of(key, position: position, count: count)
    }

    /// The user's id, or the anonymous id without one. An empty id is none.
    private func readKey(_ payload: Span<UInt8>) {
        fields.read(payload)
        key.removeAll(keepingCapacity: true)
        if fields[user].appendText(from: payload, to: &key), !key.isEmpty { return }
        key.removeAll(keepingCapacity: true)
        _ = fields[anonymous].appendText(from: payload, to: &key)
    }
}
