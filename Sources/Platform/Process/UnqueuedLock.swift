import Glibc

/// A lock for state that many threads take often and for a moment. Any thread.
///
/// `Mutex` of the standard library gives itself to the thread that waits for it (futex(2), priority inheritance). With
/// more busy threads than processors, that thread mostly does not run: all others wait until it had its turn, and soon
/// wait for each other at every step. Whoever comes first takes this lock, so a thread that runs is not held up.
/// Others may then overtake one that sleeps, so the lock must never be held for long. It is not recursive.
// Unchecked: the mutex guards the state.
@safe @usableFromInline package final class UnqueuedLock<State>: @unchecked Sendable {
    @usableFromInline let mutex: UnsafeMutablePointer<pthread_mutex_t>
    @usableFromInline var state: State

    package init(_ state: sending State) {
        self.state = state
        unsafe mutex = .allocate(capacity: 1)
        unsafe mutex.initialize(to: pthread_mutex_t())
        unsafe pthread_mutex_init(mutex, nil)
    }

    deinit {
        unsafe pthread_mutex_destroy(mutex)
        unsafe mutex.deallocate()
    }

    @inlinable
    package func withLock<Result, Failure: Error>(
        _ body: (inout sending State) throws(Failure) -> sending Result
    ) throws(Failure) -> sending Result {
        unsafe pthread_mutex_lock(mutex)
        defer { unsafe pthread_mutex_unlock(mutex) }
        return try body(&state)
    }
}
