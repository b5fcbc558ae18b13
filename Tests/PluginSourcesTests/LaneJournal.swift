import Events
import Foundation
import Ingest
import Platform
import Synchronization

/// A journal in memory that keeps events and positions. A test can make it busy or full, and hold its commits.
final class LaneJournal: EventAppender {
    struct Entry {
        var json: String
        var origin: Origin
        var lane: String
    }

    private struct State {
        var entries: [Entry] = []
        var lanes: [String: [UInt8]] = [:]
        var marks: [String: [OriginID: OriginPlace]] = [:]
        /// Grows with each append, so that a position alone has an end, too.
        var end: UInt64 = 0
        var durableEnd: UInt64 = 0
        /// The positions that a start of the plugin sees.
        var durableLanes: [String: [UInt8]] = [:]
        var durableMarks: [String: [OriginID: OriginPlace]] = [:]
        var isHeld = false
        var isBusy = false
        var refusal: Refusal?
        var attempts = 0
    }

    private let state = Mutex(State())

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
        return state.withLock { state in
            state.attempts += 1
            if state.isBusy { return .busy }
            if let refusal = state.refusal, refusal.reason != .tooLarge || !texts.isEmpty { return .refused(refusal) }
            state.entries += texts.map { Entry(json: $0, origin: origin, lane: lane?.lane ?? "") }
            if let lane { state.lanes[lane.lane] = lane.position }
            if let lane, let mark = lane.mark { state.marks[lane.lane, default: [:]][mark.origin] = mark.place }
            state.end += UInt64(texts.count) + 1
            return .queued(end: state.end)
        }
    }

    var durableEnd: UInt64 { state.withLock { $0.durableEnd } }

    /// Makes durable what was appended, unless commits are held.
    /// - Returns: whether there was anything.
    func commit() -> Bool {
        state.withLock { state in
            guard !state.isHeld, state.durableEnd < state.end else { return false }
            state.durableEnd = state.end
            state.durableLanes = state.lanes
            state.durableMarks = state.marks
            return true
        }
    }

    func hold(_ held: Bool) { state.withLock { $0.isHeld = held } }
    func makeBusy(_ busy: Bool) { state.withLock { $0.isBusy = busy } }
    func refuse(_ refusal: Refusal?) { state.withLock { $0.refusal = refusal } }
    var attempts: Int { state.withLock { $0.attempts } }
    var entries: [Entry] { state.withLock { $0.entries } }
    var count: Int { state.withLock { $0.entries.count } }
    func position(_ lane: String) -> String? {
        state.withLock { $0.durableLanes[lane] }.map { String(decoding: $0, as: UTF8.self) }
    }

    func mark(_ lane: String, _ origin: OriginID) -> OriginPlace? {
        state.withLock { $0.durableMarks[lane]?[origin] }
    }

    var lanes: [LanePosition] {
        state.withLock { $0.durableLanes }.map { LanePosition(lane: $0.key, position: $0.value) }
    }

    /// The message ids of a lane, in order.
    func ids(_ lane: String) -> [String] {
        entries.filter { $0.lane == lane }.map { entry in
            entry.json.components(separatedBy: "\"messageId\":\"").last?.components(separatedBy: "\"").first ?? ""
        }
    }
}
