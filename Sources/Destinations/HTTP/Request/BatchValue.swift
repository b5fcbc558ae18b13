import Delivery
import Events
import Platform

/// A value of the events of one request, for its URL and headers. All but `random` are the same for each attempt with
/// the same first event, so that an object with such a name replaces the one of an earlier attempt.
package enum BatchValue: Sendable {
    /// The position of the first event, and its part if it is not the first one of its position. If a batch may need
    /// several requests, the last position and the count are added: then a request may be repeated with other events
    /// behind the same first one. Events that are delivered again on purpose (a replay, dead letters) have names of
    /// their own, because they may be fewer than those of the request that had the name first.
    case id
    /// Positions in the journal, with 20 digits, so that texts sort as numbers do.
    case position, lastPosition
    case count
    /// Of the first event's receipt, in UTC: `2026-01-31`, `12`, `20260131T120000.123456789Z`.
    case date, hour, time
    /// The name of this machine.
    case host
    /// The destination's name in the configuration.
    case destination
    /// 16 hexadecimal digits, new for each attempt.
    case random

    /// - Parameters:
    ///   - places: indices in the batch; not empty.
    ///   - isSplit: a batch may need several requests.
    func text(of places: [Int], in batch: borrowing OutboundBatch, _ destination: String, isSplit: Bool) -> String {
        let first = batch.events[places[0]]
        let last = batch.events[places[places.count - 1]]
        switch self {
        case .id:
            let isAgain = batch.livePosition != nil
            return Self.digits(first.position) + (isAgain ? "-again" : "")
                + (isAgain || isSplit ? "-\(Self.digits(last.position))-\(places.count)" : "")
                + (first.part > 0 ? "-part\(first.part)" : "")
        case .destination: return destination
        case .position: return Self.digits(first.position)
        case .lastPosition: return Self.digits(last.position)
        case .count: return "\(places.count)"
        case .date: return String(Timestamp.format(first.receivedAt).prefix(10))
        case .hour: return String(Timestamp.format(first.receivedAt).dropFirst(11).prefix(2))
        case .time: return Timestamp.format(first.receivedAt).filter { $0 != "-" && $0 != ":" }
        case .host: return HostName.current
        case .random:
            var random = SystemRandomNumberGenerator()
            let number = String(random.next() as UInt64, radix: 16)
            return String(repeating: "0", count: 16 - number.count) + number
        }
    }

    private static func digits(_ position: UInt64) -> String {
        let text = "\(position)"
        return String(repeating: "0", count: 20 - text.count) + text
    }
}
