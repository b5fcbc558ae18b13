import Dispatch
import Synchronization

/// An answer that one thread waits for and another one gives.
package final class BlockingAnswer<Value: Sendable>: Sendable {
    private let value = Mutex<Value?>(nil)
    private let isThere = DispatchSemaphore(value: 0)

    package init() {}

    package func put(_ value: Value) {
        self.value.withLock { $0 = value }
        isThere.signal()
    }

    /// Blocks the calling thread until the answer is there, or until the deadline. Call it once.
    /// - Returns: nil if the deadline has passed.
    package func wait(until deadline: ContinuousClock.Instant) -> Value? {
        guard isThere.wait(timeout: .now() + (deadline - ContinuousClock.Instant.now).dispatchInterval) == .success
        else { return nil }
        return value.withLock { $0 }
    }
}

extension Duration {
    /// The same time for Dispatch, in nanoseconds. A time of years is clamped.
    var dispatchInterval: DispatchTimeInterval {
        .nanoseconds(Int((held(in: .zero ... .seconds(365 * 86_400)) / .nanoseconds(1)).rounded(.up)))
    }
}
