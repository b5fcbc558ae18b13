import Delivery
import Events
import Synchronization

/// Something that passed a destination.
struct TapItem: Sendable {
    enum Content: Sendable {
        case routed(RoutedRun, EventBatch)
        case sent(OutboundBatch, DeliveryClaim.Settlement)
        case deadLettered([DeadLetter])
    }

    var content: Content
    /// The destination, and the secrets that its output may hold.
    var destination: String
    var secrets: [[UInt8]]

    /// The number of events.
    var count: Int {
        switch content {
        case .routed(let run, _): run.decisions.count
        case .sent(let batch, _): batch.events.count
        case .deadLettered(let letters): letters.count
        }
    }

    /// About how many bytes of memory it keeps from being reused.
    fileprivate var cost: Int {
        switch content {
        case .routed(let run, let batch):
            run.output.capacity + run.decisions.count * MemoryLayout<RoutedRun.Decision>.stride + batch.memorySize
                + batch.events.count * MemoryLayout<EventRecord>.stride
        case .sent(let batch, _):
            batch.payload.capacity + batch.events.count * MemoryLayout<OutboundEvent>.stride
        case .deadLettered(let letters):
            letters.reduce(0) { $0 + $1.event.count + MemoryLayout<DeadLetter>.stride }
        }
    }
}

/// The items that wait for one tap, up to a fixed size. Any thread; nobody waits for room.
final class TapQueue: Sendable {
    /// In bytes. A single item may exceed it, because one batch may.
    static let limit = 4 << 20

    private struct State {
        /// From `first` on: those before have been taken.
        var items: [TapItem] = []
        var first = 0
        var bytes = 0
        var missed: UInt64 = 0

        var isEmpty: Bool { first == items.count }

        /// Forgets the places of items that have been taken, before they are more than the others.
        mutating func compact() {
            guard isEmpty || first > 64 && first > items.count / 2 else { return }
            items.removeFirst(first)
            first = 0
        }
    }

    private let state = Mutex(State())

    /// Adds an item, or counts its events as missed if there is no room.
    func put(_ item: TapItem) {
        let cost = item.cost
        state.withLock { state in
            guard state.isEmpty || state.bytes + cost <= Self.limit else {
                state.missed += UInt64(item.count)
                return
            }
            state.items.append(item)
            state.bytes += cost
        }
    }

    /// Removes the oldest item.
    func next() -> TapItem? {
        state.withLock { state in
            guard !state.isEmpty else { return nil }
            let item = state.items[state.first]
            state.items[state.first].content = .deadLettered([])
            state.first += 1
            state.bytes -= item.cost
            state.compact()
            return item
        }
    }

    /// The number of events missed since the last call.
    func takeMissed() -> UInt64 {
        state.withLock { state in
            defer { state.missed = 0 }
            return state.missed
        }
    }

    /// Removes everything.
    /// - Returns: the number of events removed, and of those missed since the last call.
    @discardableResult
    func clear() -> UInt64 {
        state.withLock { state in
            defer { state = State() }
            return state.items[state.first...].reduce(state.missed) { $0 + UInt64($1.count) }
        }
    }
}
