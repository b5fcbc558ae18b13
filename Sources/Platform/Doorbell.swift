import Glibc

/// Lets one thread sleep until somebody rings or a deadline passes. Ringing while nobody sleeps
/// is remembered, once; so "look for work, then wait" never misses any. Any thread may ring; one
/// thread waits.
///
/// Built on a mutex and a condition variable on the monotonic clock: ringing
/// a bell that is already rung costs one uncontended lock.
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

    /// Wakes the waiting thread, or lets its next wait return at once.
    package func ring() {
        unsafe pthread_mutex_lock(mutex)
        let first = !rung
        rung = true
        unsafe pthread_mutex_unlock(mutex)
        if first { unsafe pthread_cond_signal(condition) }
    }

    /// Sleeps until rung or until `deadline` (nil: without end), and takes the ring back.
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
