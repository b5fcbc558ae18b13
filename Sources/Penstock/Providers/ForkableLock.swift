#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// A lock that a child process can unlock after fork(2) if it was locked at the time of the fork; see `Forks`.
///
/// The standard library's `Mutex` does not support this: on Linux it records the thread that holds it, and the child's
/// thread is a different one.
@safe final class ForkableLock: @unchecked Sendable {
    private let mutex: UnsafeMutablePointer<pthread_mutex_t>

    init() {
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    func lock() { unsafe pthread_mutex_lock(mutex) }
    func unlock() { unsafe pthread_mutex_unlock(mutex) }

    /// How often to try to lock within a deadline, in microseconds.
    private static let pause: UInt32 = 100

    /// Locks, unless the lock is still held at the deadline. A signal handler may have interrupted the thread that
    /// holds it, and then it is never unlocked.
    /// - Returns: Whether the lock is held now.
    func lock(until deadline: ContinuousClock.Instant) -> Bool {
        while unsafe pthread_mutex_trylock(mutex) != 0 {
            guard ContinuousClock.now < deadline else { return false }
            usleep(Self.pause)
        }
        return true
    }

    func withLock<Value>(_ body: () throws -> Value) rethrows -> Value {
        lock()
        defer { unlock() }
        return try body()
    }
}
