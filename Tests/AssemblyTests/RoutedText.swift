import Assembly
import DaemonConfiguration
import Delivery
import Events
import Routing

/// Routes events to one destination of a configuration, as its worker does.
struct RoutedText {
    private let router: RoutedEvents

    init(_ destination: Configuration.Destination, _ configuration: Configuration) {
        let journal = [UInt8](repeating: 7, count: 16)
        router = RoutedEvents(
            DestinationRouter(destination, in: configuration, host: "host", journal: journal), marksUsers: true)
    }

    /// - Parameters:
    ///   - receivedAt: nanoseconds since 1970.
    ///   - position: the position of the first event.
    /// - Returns: for each accepted event, its output, or the reason that it has none.
    func route(_ events: [String], receivedAt: Int64 = 1_700_000_000_000_000_000, position: UInt64 = 0) -> [String] {
        let scanner = EventScanner(maximumEventSize: 1 << 20, maximumDepth: 64)
        let bytes = Array(events.joined(separator: "\n").utf8) + [0x0A]
        var accepted: [ScannedEvent] = []
        var refused: [ScannedRefusal] = []
        _ = scanner.scan(bytes.span, accepted: &accepted, refused: &refused)
        var batch = EventBatch()
        batch.ownBytes = bytes
        batch.events = accepted.enumerated().map { number, event in
            EventRecord(
                position: position &+ UInt64(number), receivedAt: receivedAt, offset: event.offset,
                length: event.length, origin: 0,
                index: event.index)
        }
        batch.origins = [Origin(source: "apps", uid: 0, gid: 0, pid: 0)]
        return batch.events.map { event in
            var output = OutboundBatch()
            switch router.route(event, of: batch, into: &output) {
            case .routed:
                return output.events.map { String(decoding: output.payload[$0.payload], as: UTF8.self) }.joined(
                    separator: "\n")
            case .filtered(let reason): return "filtered: \(reason)"
            case .rejected(let reason): return "rejected: \(reason)"
            }
        }
    }
}
