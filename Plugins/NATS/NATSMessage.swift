import CNats
import FleetFormat
import PenstockPluginKit

/// A message that a consumer has delivered.
///
/// Unsafe part: the library's handle, valid until the last reference.
@safe final class NATSMessage {
    /// In the stream.
    let sequence: UInt64
    /// The number of this delivery by its consumer, from 1.
    let delivery: UInt64
    /// The messages that the consumer had not delivered then.
    let behind: UInt64
    /// An acknowledgement is sent to this subject.
    let reply: String
    private let handle: OpaquePointer
    /// Whether it is a batch of an edge.
    private(set) lazy var isFleet = header(FleetHeader.format) != nil

    /// Takes the message, if it is one of a consumer.
    /// - Returns: nil: it is not, and still belongs to the caller.
    init?(_ handle: OpaquePointer) {
        guard let text = unsafe natsMsg_GetReply(handle) else { return nil }
        reply = unsafe String(cString: text)
        // $JS.ACK.STREAM.CONSUMER.TIMES.SEQUENCE.DELIVERY.TIME.BEHIND, or with the domain and the account before the
        // stream, and a random token at the end.
        let tokens = reply.utf8.split(separator: UInt8(ascii: "."), omittingEmptySubsequences: false)
        guard tokens.count >= 9, tokens[0].elementsEqual("$JS".utf8), tokens[1].elementsEqual("ACK".utf8) else {
            return nil
        }
        let start = tokens.count == 9 ? 5 : 7
        guard tokens.count > start + 3, let sequence = Self.number(tokens[start]),
            let delivery = Self.number(tokens[start + 1]), let behind = Self.number(tokens[start + 3])
        else { return nil }
        (self.sequence, self.delivery, self.behind) = (sequence, delivery, behind)
        unsafe self.handle = handle
    }

    deinit { unsafe natsMsg_Destroy(handle) }

    var byteCount: Int { unsafe Int(natsMsg_GetDataLength(handle)) }

    /// A header field; nil: the message has none of that name.
    func header(_ name: String) -> String? {
        var value: UnsafePointer<CChar>?
        guard unsafe natsMsgHeader_Get(handle, name, &value) == NATS_OK, let value = unsafe value else { return nil }
        return unsafe String(cString: value)
    }

    /// The offers of a batch of an edge.
    func offers(_ reading: FleetReading, _ host: SourceHost) throws(FleetReading.Problem) -> [EventBuffer] {
        unsafe try reading.offers(
            UnsafeRawBufferPointer(start: natsMsg_GetData(handle), count: byteCount),
            (host.maxOfferEvents, host.maxOfferBytes), header: header)
    }

    func append(to events: inout EventBuffer) {
        unsafe events.append(UnsafeRawBufferPointer(start: natsMsg_GetData(handle), count: byteCount))
    }

    private static func number(_ token: Substring.UTF8View.SubSequence) -> UInt64? { UInt64(Substring(token)) }
}
