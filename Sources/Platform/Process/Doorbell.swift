import Glibc

/// Lets one thread sleep until another thread rings or a deadline passes. A ring while no thread sleeps is remembered,
/// once; so a loop of "check for work, then wait" never misses work. Any thread may ring; one thread waits.
///
/// It uses a mutex and a condition variable on the monotonic clock. Ringing a bell that was rung already costs one
/// uncontended lock.
@safe package final class Doorbell: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>
    private let condition: UnsafeMutablePointer<pthread_cond_t>
    private var rung = false

    package init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe condition = .allocate(capacity: 1)
        unsafe pthread_mutex_init(mutex, nil)
        var attributes = pthread_condattr_t()
        unsafe pthread_condattr_init(&attributes)
        unsafe pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC)
        unsafe pthread_cond_init(condition, &attributes)
        unsafe pthread_condattr_destroy(&attributes)
    }

    deinit {
        unsafe pthread_cond_destroy(condition)
        unsafe pthread_mutex_destroy(mutex)
        unsafe condition.deallocate()
        unsafe mutex.deallocate()
    }

    /// Wakes the waiting thread, or makes its next wait return at once.
    package func ring() {
        unsafe pthread_mutex_lock(mutex)
        let first = !rung
        rung = true
        unsafe pthread_mutex_unlock(mutex)
        if first { unsafe pthread_cond_signal(condition) }
    }

    /// Sleeps until the bell rings or `deadline` passes (nil: no deadline). Resets the bell.
    /// - Returns: whether it was rung.
    @discardableResult
    package func wait(until deadline: Instant? = nil) -> Bool {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        if let deadline {
            var time = timespec(
                tv_sec: Int(deadline.nanoseconds / 1_000_000_000), tv_nsec: Int(deadline.nanoseconds % 1_000_000_000))
            while !rung {
                if unsafe pthread_cond_timedwait(condition, mutex, &time) == ETIMEDOUT { break }
            }
        } else {
            while !rung { unsafe pthread_cond_wait(condition, mutex) }
        }
        defer { rung = false }
        return rung
    }
}

/// Blocks the calling thread. For a thread that nobody needs to wake; elsewhere a `Doorbell` waits.
package func pause(for duration: Duration) {
    let end = (SystemClock().now() + duration).nanoseconds
    var time = timespec(tv_sec: Int(end / 1_000_000_000), tv_nsec: Int(end % 1_000_000_000))
    // A signal may interrupt it.
    while unsafe clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, nil) == EINTR {}
}
