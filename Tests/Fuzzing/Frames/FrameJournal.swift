import Events
import Ingest
import Synchronization

/// A journal in memory that takes what it is told to. It keeps what the last append brought, and how far each lane has
/// brought in each origin.
final class FrameJournal: EventAppender {
    enum Mood { case takes, isBusy, isFull, refusesEvents }

    struct State {
        var mood = Mood.takes
        var end: UInt64 = 0
        var durableEnd: UInt64 = 0
        /// Of the last append. `line` is the event's line in the buffer that was scanned.
        var events: [(json: [UInt8], line: Int)] = []
        var lane: LanePosition?
        /// By the bytes of the lane's name, because strings with other bytes may be equal.
        var marks: [[UInt8]: [OriginID: OriginPlace]] = [:]
        var durableMarks: [[UInt8]: [OriginID: OriginPlace]] = [:]
    }

    let state = Mutex(State())

    func append(
        _ bytes: Span<UInt8>, events: borrowing Span<ScannedEvent>, from origin: Origin, lane: LanePosition?
    ) -> AppendOutcome {
        var copies: [(json: [UInt8], line: Int)] = []
        for index in events.indices {
            let start = Int(events[index].offset)
            var copy: [UInt8] = []
            copy.append(contentsOf: bytes.extracting(start..<start + Int(events[index].length)))
            copies.append((json: copy, line: Int(events[index].line)))
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
            if let lane, let mark = lane.mark {
                state.marks[Array(lane.lane.utf8), default: [:]][mark.origin] = mark.place
            }
            state.end += UInt64(copies.count) + 1
            return .queued(end: state.end)
        }
    }

    var durableEnd: UInt64 { state.withLock { $0.durableEnd } }

    /// The durable mark; nil: there is none.
    func mark(of lane: String, _ origin: OriginID) -> OriginPlace? {
        state.withLock { $0.durableMarks[Array(lane.utf8)]?[origin] }
    }

    func commit() {
        state.withLock { state in
            state.durableEnd = state.end
            state.durableMarks = state.marks
        }
    }

    func become(_ mood: Mood) { state.withLock { $0.mood = mood } }
}
