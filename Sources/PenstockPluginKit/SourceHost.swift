import CPenstockPlugin
import Glibc

/// The host's services for one source. Any thread.
///
/// Unsafe part: the host's tables, which outlive the source.
@safe public final class SourceHost: HostServices, @unchecked Sendable {
    /// The most events in an offer, at least 1.
    public let maxOfferEvents: Int
    /// The most bytes of events in an offer, at least 1. An offer of one event may be larger.
    public let maxOfferBytes: Int

    private let source: UnsafePointer<penstock_source_host>

    init(_ table: UnsafePointer<penstock_host>, _ source: UnsafePointer<penstock_source_host>) {
        unsafe self.source = source
        maxOfferEvents = unsafe max(1, Int(source.pointee.max_offer_events))
        maxOfferBytes = unsafe max(1, Int(clamping: source.pointee.max_offer_bytes))
        unsafe super.init(table)
    }

    /// Offers events of one lane, which the host copies. Offers of a lane are stored in the order in which they were
    /// made; only one thread at a time may offer to a lane.
    /// - Parameters:
    ///   - events: none: only the position moves.
    ///   - lane: with the position behind the last event.
    ///   - token: the source's own number for the offer; `durable` names it.
    /// - Returns: whether the host took the offer. If not, it is busy: offer again when it calls `ready`.
    /// - Throws: the offer is not valid, and never will be.
    public func offer(_ events: EventBuffer, lane: Lane, token: UInt64) throws(SourceError) -> Bool {
        let (status, reason) = unsafe events.withStrings { strings in
            unsafe lane.position.withUnsafeBytes { position in
                let position = unsafe penstock_string(
                    data: position.baseAddress?.assumingMemoryBound(to: CChar.self), length: position.count)
                let (origin, host) = (events.origin ?? "", events.host ?? "")
                return unsafe Self.withStrings(lane.name, origin, host) { name, origin, host in
                    unsafe events.withPlaces { places, times in
                        var offer = unsafe penstock_offer(
                            struct_size: UInt32(MemoryLayout<penstock_offer>.size),
                            count: UInt32(clamping: strings.count), token: token,
                            lane: penstock_lane(name: name, position: position), events: strings.baseAddress,
                            origin: origin, places: places, host: host, received_at_ns: times)
                        return unsafe make(&offer)
                    }
                }
            }
        }
        switch status {
        case PENSTOCK_OK: return true
        case PENSTOCK_BUSY: return false
        default: throw SourceError(reason)
        }
    }

    /// The source reads from this lane now. A lane that is offered is open without it.
    public func laneOpened(_ lane: String) {
        unsafe Self.withString(lane) { unsafe source.pointee.lane_opened?(table, $0) }
    }

    /// The source no longer reads from this lane.
    public func laneClosed(_ lane: String) {
        unsafe Self.withString(lane) { unsafe source.pointee.lane_closed?(table, $0) }
    }

    /// A lane that several hosts may read, one at a time, belongs to this host for a time. Call it when the right is
    /// taken, and whenever it is renewed. The host stores nothing of the lane later, for example after it was stopped
    /// for a while: it starts the source anew.
    public func lane(_ lane: String, isOursFor time: Duration) {
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        let (seconds, attoseconds) = min(max(time, .zero), .seconds(1 << 30)).components
        let deadline =
            (Int64(now.tv_sec) + seconds) * 1_000_000_000 + Int64(now.tv_nsec) + attoseconds / 1_000_000_000
        unsafe Self.withString(lane) { unsafe source.pointee.lane_until?(table, $0, deadline) }
    }

    /// Shows the operator what keeps the source from working; nil: it works. The source goes on trying by itself.
    public func problem(_ problem: String?) { unsafe source.pointee.problem?(table, problem) }

    /// The source cannot go on. The host ends it, and starts another one after a while.
    public func fail(_ reason: String) { unsafe source.pointee.fail?(table, reason) }

    private func make(_ offer: UnsafePointer<penstock_offer>) -> (Int32, String) {
        unsafe withUnsafeTemporaryAllocation(of: CChar.self, capacity: 1024) { error in
            unsafe error[0] = 0
            let status = unsafe source.pointee.offer?(table, offer, error.baseAddress, error.count) ?? PENSTOCK_FAILED
            guard status == PENSTOCK_FAILED, let text = error.baseAddress else { return (status, "") }
            return unsafe (status, String(cString: text))
        }
    }

    private static func withStrings<Value>(
        _ first: String, _ second: String, _ third: String,
        _ body: (penstock_string, penstock_string, penstock_string) -> Value
    ) -> Value {
        unsafe withString(first) { first in
            unsafe withString(second) { second in
                unsafe withString(third) { unsafe body(first, second, $0) }
            }
        }
    }

    private static func withString<Value>(_ text: String, _ body: (penstock_string) -> Value) -> Value {
        var text = text
        return text.withUTF8 { bytes in
            unsafe bytes.withMemoryRebound(to: CChar.self) { bytes in
                unsafe body(penstock_string(data: bytes.baseAddress, length: bytes.count))
            }
        }
    }
}
