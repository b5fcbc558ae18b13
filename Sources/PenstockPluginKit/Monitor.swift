import Glibc

/// State that threads share, and whose changes they can wait for. Any thread.
///
/// Unsafe part: the lock and the condition, which have the lifetime of this object.
@safe package final class Monitor<State>: @unchecked Sendable {
    private let lock = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    private let changed = UnsafeMutablePointer<pthread_cond_t>.allocate(capacity: 1)
    private var state: State

    package init(_ state: sending State) {
        self.state = state
        unsafe pthread_mutex_init(lock, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        // A wait must not depend on changes of the wall clock.
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(changed, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(changed)
        unsafe pthread_mutex_destroy(lock)
        unsafe changed.deallocate()
        unsafe lock.deallocate()
    }

    /// Changes the state. Threads that wait look at it again.
    package func change<Value, Failure>(
        _ body: (inout State) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        unsafe pthread_mutex_lock(lock)
        defer {
            unsafe pthread_cond_broadcast(changed)
            unsafe pthread_mutex_unlock(lock)
        }
        return try body(&state)
    }

    /// Reads the state, or changes what no thread waits for. Wakes nobody: a wake of many threads costs far more than
    /// the change.
    package func withLock<Value, Failure>(
        _ body: (inout State) throws(Failure) -> Value
    ) throws(Failure) -> Value {
        unsafe pthread_mutex_lock(lock)
        defer { unsafe pthread_mutex_unlock(lock) }
        return try body(&state)
    }

    /// Waits until the body returns a value. It is called at once, after each change, and at the end of the time.
    /// - Returns: nil: the time has passed.
    package func wait<Value>(_ time: Duration, for body: (inout State) -> Value?) -> Value? {
        var end = Self.time(after: time)
        unsafe pthread_mutex_lock(lock)
        defer { unsafe pthread_mutex_unlock(lock) }
        while true {
            if let value = body(&state) { return value }
            if unsafe pthread_cond_timedwait(changed, lock, &end) == ETIMEDOUT { return body(&state) }
        }
    }

    private static func time(after time: Duration) -> timespec {
        var now = timespec()
        unsafe clock_gettime(CLOCK_MONOTONIC, &now)
        let (seconds, attoseconds) = min(max(time, .zero), .seconds(1_000_000_000)).components
        let nanoseconds = now.tv_nsec + Int(attoseconds / 1_000_000_000)
        return timespec(
            tv_sec: now.tv_sec + Int(seconds) + nanoseconds / 1_000_000_000, tv_nsec: nanoseconds % 1_000_000_000)
    }
}
