import Platform
import Synchronization

/// What other threads touch of the engine: the orders that they leave for it. It lets the engine sleep without missing
/// one: whoever has an order writes it down first and rings then; the engine says that it sleeps first and looks then.
/// One of the two sees the other.
final class HTTPEngineDoor: Sendable {
    enum Order: Sendable {
        /// A handle that is ready to go, and where its end is reported.
        case begin(EasyHandle, HTTPMailbox)
        case cancel(EasyHandle)
    }

    private struct State {
        /// Bounded by what destinations may have under way.
        var orders: [Order] = []
        var isClosed = false
    }

    let multi: MultiHandle
    private let sleeping = Atomic<Bool>(false)
    private let state = Mutex(State())

    init(_ multi: MultiHandle) { self.multi = multi }

    /// Leaves an order. Any thread.
    /// - Returns: false: nobody takes orders any more.
    func leave(_ order: Order) -> Bool {
        let isOpen = state.withLock { state in
            if !state.isClosed { state.orders.append(order) }
            return !state.isClosed
        }
        if isOpen { ring() }
        return isOpen
    }

    /// Engine's thread only.
    /// - Parameter closing: these are the last ones.
    func takeOrders(closing: Bool = false) -> [Order] {
        state.withLock { state in
            if closing { state.isClosed = true }
            guard !state.orders.isEmpty else { return [] }
            defer { state.orders = [] }
            return state.orders
        }
    }

    /// A system call only if the engine sleeps and nobody rang yet.
    func ring() {
        if sleeping.exchange(false, ordering: .sequentiallyConsistent) { multi.wakeUp() }
    }

    /// Engine's thread only.
    func sleep(_ duration: Duration, unless hasNews: () -> Bool) {
        sleeping.store(true, ordering: .sequentiallyConsistent)
        if !hasNews() && state.withLock({ $0.orders.isEmpty }) {
            // Rounded up: waking just before a deadline would only mean to sleep again.
            let milliseconds = duration.inNanoseconds.saturatingAdd(999_999) / 1_000_000
            multi.wait(milliseconds: Int32(clamping: milliseconds))
        }
        sleeping.store(false, ordering: .sequentiallyConsistent)
    }
}
