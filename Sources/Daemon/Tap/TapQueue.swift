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
            run.output.capacity + run.decisions.count * MemoryLayout<RoutedRun.Decision>.stride + batch.bytes.capacity
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
        var items: [TapItem] = []
        var bytes = 0
        var missed: UInt64 = 0
    }

    private let state = Mutex(State())

    /// Adds an item, or counts its events as missed if there is no room.
    func put(_ item: TapItem) {
        let cost = item.cost
        state.withLock { state in
            guard state.items.isEmpty || state.bytes + cost <= Self.limit else {
                state.missed += UInt64(item.count)
                return
            }
            state.items.append(item)
            state.bytes += cost
        }
    }

    /// Removes everything.
    /// - Returns: the items, and the number of events missed since the last call.
    func take() -> (items: [TapItem], missed: UInt64) {
        state.withLock { state in
            defer { state = State() }
            return (state.items, state.missed)
        }
    }
}
