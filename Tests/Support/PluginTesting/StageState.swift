import CPenstockPlugin
import Foundation

/// What a `SourceStage` knows of its source, for the calls of the source. It outlives a call, and its end has no effect.
///
/// `@unchecked`: all state is guarded by `condition`.
@safe final class StageState: @unchecked Sendable {
    struct Offer {
        var token: UInt64
        var lane: String
        var position: [UInt8]
        var events: [String]
        var bytes: Int
        /// The journal that stored the events before, and their places there; nil: none.
        var origin: String?
        var places: [LaneJournal.Place] = []
    }

    struct State {
        var queue: [Offer] = []
        var bytes = 0
        var isHeld = false
        var wasBusy = false
        var hasStopped = false
        var hasCrashed = false
        var isEnded = false
        var openLanes: Set<String> = []
        /// Until when lanes belong to this host, by CLOCK_MONOTONIC.
        var deadlines: [String: Int64] = [:]
        var problem: String?
        var problems: [String] = []
        var failure: String?
        var log: [String] = []
        var counters: [String: UInt64] = [:]
        var gauges: [String: Double] = [:]
        var violations: [String] = []
        var offers = 0
        var busy = 0
    }

    let options: SourceStage.Options
    let condition = NSCondition()
    var state = State()

    init(_ options: SourceStage.Options) { self.options = options }

    func read<Value>(_ body: (State) -> Value) -> Value { condition.withLock { body(state) } }

    func write(_ body: (inout State) -> Void) {
        condition.withLock {
            body(&state)
            condition.broadcast()
        }
    }

    func take(_ offer: penstock_offer) -> String? {
        let events = unsafe (0..<Int(offer.count)).map { unsafe Self.text(offer.events[$0]) }
        let name = unsafe Self.text(offer.lane.name)
        let position = unsafe Array(Self.bytes(offer.lane.position))
        let origin = unsafe offer.origin.length > 0 ? Self.text(offer.origin) : nil
        let places = (0..<(origin == nil ? 0 : events.count)).map { index in
            unsafe LaneJournal.Place(position: offer.places[index].position, part: offer.places[index].part)
        }
        let bytes = events.reduce(0) { $0 + $1.utf8.count }
        guard 1...64 ~= name.utf8.count, position.count <= 64 else { return "the lane \(name) is not valid" }
        if events.count > options.maxOfferEvents || (events.count > 1 && bytes > options.maxOfferBytes) {
            return "the offer is too large: \(events.count) events, \(bytes) bytes"
        }
        return condition.withLock {
            if state.hasStopped { state.violations.append("an offer after stop") }
            if !state.queue.isEmpty, state.bytes + bytes > options.window {
                state.wasBusy = true
                state.busy += 1
                return ""
            }
            state.offers += 1
            if !state.hasCrashed {
                state.queue.append(
                    unsafe Offer(
                        token: offer.token, lane: name, position: position, events: events, bytes: bytes,
                        origin: origin, places: places))
                state.bytes += bytes
            }
            condition.broadcast()
            return nil
        }
    }

    func add(_ name: String, _ amount: UInt64) { write { $0.counters[name, default: 0] += amount } }
    func set(_ name: String, _ value: Double) { write { $0.gauges[name] = value } }
    func note(_ line: String) { write { $0.log.append(line) } }
    func opened(_ lane: String) { write { $0.openLanes.insert(lane) } }
    func closed(_ lane: String) { write { $0.openLanes.remove(lane) } }
    func belongs(_ lane: String, until deadline: Int64) { write { $0.deadlines[lane] = deadline } }
    func failed(_ reason: String) { write { $0.failure = reason } }
    func show(_ problem: String?) {
        write { state in
            state.problem = problem
            if let problem { state.problems.append(problem) }
        }
    }

    static func bytes(_ string: penstock_string) -> UnsafeRawBufferPointer {
        unsafe UnsafeRawBufferPointer(start: string.data, count: string.length)
    }
    static func text(_ string: penstock_string) -> String {
        unsafe String(decoding: bytes(string), as: UTF8.self)
    }
}
