import Events
import Synchronization

@testable import Ingest

/// A journal that records its events. A test can make it busy or let it refuse events.
final class RecordingAppender: EventAppender {
    struct State {
        var events: [String] = []
        var durableEnd: UInt64 = 0
        var isBusy = false
        /// It is busy for groups of more events.
        var room = Int.max
        /// The number of times that events were offered.
        var offers = 0
        var refusal: Refusal?
    }

    let state = Mutex(State())

    func append(
        _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
    ) -> AppendOutcome {
        var texts: [String] = []
        for at in events.indices {
            let event = events[at]
            let json = bytes.extracting(Int(event.offset)..<Int(event.offset + event.length))
            var copy: [UInt8] = []
            for index in json.indices { copy.append(json[index]) }
            texts.append(String(decoding: copy, as: UTF8.self))
        }
        return state.withLock {
            $0.offers += 1
            if $0.isBusy || texts.count > $0.room { return .busy }
            if let refusal = $0.refusal { return .refused(refusal) }
            $0.events += texts
            return .queued(end: UInt64($0.events.count))
        }
    }

    var durableEnd: UInt64 { state.withLock { $0.durableEnd } }
    var events: [String] { state.withLock { $0.events } }
}
