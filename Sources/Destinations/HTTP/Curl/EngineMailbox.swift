import Platform
import Synchronization

/// The part of the engine that other threads touch: its queue of orders. It lets the engine sleep without missing an
/// order. A sender first queues its order, then wakes the engine; the engine first announces that it sleeps, then
/// checks the queue. So at least one of them sees the other.
final class EngineMailbox: Sendable {
    enum Order: Sendable {
        /// A handle that is ready to send, and the mailbox for its completion.
        case begin(EasyHandle, HTTPMailbox)
        case cancel(EasyHandle)
    }

    private struct State {
        /// The destinations' in-flight limits bound its length.
        var orders: [Order] = []
        var isClosed = false
    }

    let multi: MultiHandle
    private let sleeping = Atomic<Bool>(false)
    private let state = Mutex(State())

    init(_ multi: MultiHandle) { self.multi = multi }

    /// Queues an order. Any thread.
    /// - Returns: false: the engine accepts no orders any more.
    func leave(_ order: Order) -> Bool {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.orders.append(order) }
            return !state.isClosed
        }
        if isOpen { ring() }
        return isOpen
    }

    /// Engine's thread only.
    /// - Parameter closing: accept no orders after these.
    func takeOrders(closing: Bool = false) -> [Order] {
        state.withLock { state in
            if closing { state.isClosed = true }
            guard !state.orders.isEmpty else { return [] }
            defer { state.orders = [] }
            return state.orders
        }
    }

    /// Makes a system call only if the engine sleeps and has not been woken yet.
    func ring() {
        if sleeping.exchange(false, ordering: .sequentiallyConsistent) { multi.wakeUp() }
    }

    /// Engine's thread only.
    func sleep(_ duration: Duration, unless hasNews: () -> Bool) {
        sleeping.store(true, ordering: .sequentiallyConsistent)
        if !hasNews() && state.withLock({ $0.orders.isEmpty }) {
            // Rounded up: waking just before a deadline would only mean sleeping again.
            let milliseconds = duration.inNanoseconds.saturatingAdd(999_999) / 1_000_000
            multi.wait(milliseconds: Int32(clamping: milliseconds))
        }
        sleeping.store(false, ordering: .sequentiallyConsistent)
    }
}
