import Events
import Ingest
import Synchronization

/// A journal in memory that takes what it is told to. It keeps what the last append brought.
final class FrameJournal: EventAppender {
    enum Mood { case takes, isBusy, isFull, refusesEvents }

    struct State {
        var mood = Mood.takes
        var end: UInt64 = 0
        var durableEnd: UInt64 = 0
        /// Of the last append.
        var events: [[UInt8]] = []
        var lane: LanePosition?
    }

    let state = Mutex(State())

    func append(
        _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
    ) -> AppendOutcome {
        var copies: [[UInt8]] = []
        for index in events.indices {
            let start = Int(events[index].offset)
            var copy: [UInt8] = []
            copy.append(contentsOf: bytes.extracting(start..<start + Int(events[index].length)))
            copies.append(copy)
        }
        return state.withLock { state in
            switch state.mood {
            case .isBusy: return .busy
            case .isFull: return .refused(Refusal(reason: .journalFull, detail: "the disk is full"))
            case .refusesEvents where !copies.isEmpty:
                return .refused(Refusal(reason: .tooLarge, detail: "larger than the queue"))
            case .takes, .refusesEvents: break
            }
            state.events = copies
            state.lane = lane
            state.end += UInt64(copies.count) + 1
            return .queued(end: state.end)
        }
    }

    var durableEnd: UInt64 { state.withLock { $0.durableEnd } }

    func commit() { state.withLock { $0.durableEnd = $0.end } }
    func become(_ mood: Mood) { state.withLock { $0.mood = mood } }
}
