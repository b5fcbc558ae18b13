import CPluginChannel
import Events
import Ingest
import Platform

/// A refused event of an offer.
struct RefusedEvent: Sendable, Equatable {
    /// In the offer.
    var index: Int
    var reason: String
}

/// Puts one offer at a time through `EventAdmission`. Belongs to the source's worker.
final class OfferAdmission {
    /// The most bytes of reasons for one offer. Later reasons are only named: the plugin shows them, and the statistics
    /// count them in any case.
    private static let reasonsLimit = 64 << 10

    private let source: String
    private let admission: EventAdmission
    private let statistics: SourceStatistics
    private let clock: any Clock
    private var marks: OriginMarks
    private var lines = OfferLines()
    /// The offer of the last scan.
    private var offer: ReceivedOffer?
    private var lane = LanePosition(lane: "", position: [])
    /// Refused for another reason than the scan's.
    private var refused: [(index: Int, refusal: Refusal)] = []

    init(
        source: String, admission: EventAdmission, statistics: SourceStatistics, marks: OriginMarks, clock: any Clock
    ) {
        self.source = source
        self.admission = admission
        self.statistics = statistics
        self.marks = marks
        self.clock = clock
    }

    /// Checks the offer's events. Those that the lane has brought in before are left out.
    func scan(_ offer: ReceivedOffer) {
        self.offer = offer
        lane = offer.lane
        let mark = offer.origin.flatMap { marks.mark(of: offer.lane.lane, $0) }
        lines.write(offer, above: mark)
        if let origin = offer.origin, let last = offer.places.max(), mark.map({ last > $0 }) ?? true {
            lane.mark = OriginMark(origin: origin, place: last)
        }
        if !offer.host.isEmpty || !offer.times.isEmpty {
            lane.receipt = EarlierReceipt(host: offer.host, times: lines.times(of: offer))
        }
        refused = lines.refused
        lines.withBytes(of: offer) { _ = admission.scan($0, maximumRefused: .max) }
    }

    /// How long ago another host received the newest event of the last scan; nil: not known, or none is new.
    var age: Duration? {
        guard let newest = lane.receipt?.times.max() else { return nil }
        return .nanoseconds(max(0, clock.wallClock().saturatingSubtract(newest)))
    }

    /// Appends the events of the last scan that were not refused, and the position behind them. Takes all or nothing.
    /// - Parameter process: the plugin's process.
    func append(from process: Int32) -> AppendOutcome {
        let origin = Origin(
            source: source, uid: Accounts.effectiveUserID, gid: Accounts.effectiveGroupID, pid: process)
        let outcome = withLines { admission.append($0, from: origin, lane: lane) }
        if case .refused(let refusal) = outcome, refusal.reason == .tooLarge, !admission.accepted.isEmpty {
            refused += admission.accepted.map { (lines.index(of: Int($0.line)), refusal) }
            admission.dropAccepted()
            return append(from: process)
        }
        if case .queued(let end) = outcome {
            marks.note(lane, end: end, durable: admission.durableEnd)
            count()
        }
        return outcome
    }

    /// Frees the memory of the last scan's offer.
    func forget() { offer = nil }

    /// The refused events of the last scan, in order.
    func refusals() -> [RefusedEvent] {
        var all = refused
        withLines { bytes in
            for line in admission.refused {
                all.append((lines.index(of: line.line), admission.explain(line, in: bytes)))
            }
        }
        all.sort { $0.index < $1.index }
        var left = Self.reasonsLimit
        return all.map { index, refusal in
            var reason = refusal.reason.rawValue
            let text = "\(reason): \(refusal.detail)"
            if text.utf8.count <= left { reason = Self.cut(text, Int(PLUGIN_CHANNEL_REASON_LIMIT)) }
            left -= min(left, reason.utf8.count)
            return RefusedEvent(index: index, reason: reason)
        }
    }

    /// Lends the lines of the last scan.
    private func withLines<Value>(_ body: (Span<UInt8>) -> Value) -> Value {
        guard let offer else { preconditionFailure("no offer was scanned") }
        return lines.withBytes(of: offer, body)
    }

    /// Counts the refused events, once for each offer that is appended.
    private func count() {
        withLines { admission.settleRefused($0) }
        if lines.repeated > 0 { statistics.skip(duplicates: lines.repeated) }
        let now = clock.wallClock()
        for (_, refusal) in refused { statistics.refuse(refusal, at: now) }
    }

    /// At most `limit` bytes, and no part of a character.
    private static func cut(_ text: String, _ limit: Int) -> String {
        guard text.utf8.count > limit else { return text }
        let bytes = Array(text.utf8)
        var end = limit
        while end > 0, bytes[end] & 0xC0 == 0x80 { end -= 1 }
        return String(decoding: bytes[..<end], as: UTF8.self)
    }
}
