import Glibc

/// Signals as input of the main thread. They are blocked in every thread, and one thread waits for them. No signal
/// handler runs, so the restrictions on handlers do not apply.
package struct SignalWait: Sendable {
    package enum Signal: Sendable, Equatable {
        /// SIGTERM or SIGINT: drain and exit.
        case terminate
        /// SIGHUP: reload the configuration.
        case reload
        /// `wake()` was called: check for work. Several calls may arrive as one.
        case wake
    }

    /// Blocks the signals for the calling thread and all threads that it creates. Ignores SIGPIPE, so that a write to a
    /// closed socket returns an error instead of ending the daemon. Call in main before other threads are created.
    package init() {
        var taken = Self.taken
        unsafe pthread_sigmask(SIG_BLOCK, &taken, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// Sleeps until a signal arrives or the deadline passes (nil: no deadline).
    /// - Returns: nil at the deadline.
    package func next(until deadline: Instant? = nil, clock: any Clock = SystemClock()) -> Signal? {
        var taken = Self.taken
        while true {
            let number: Int32
            if let deadline {
                let left = max((deadline - clock.now()).inNanoseconds, 0)
                var time = timespec(tv_sec: Int(left / 1_000_000_000), tv_nsec: Int(left % 1_000_000_000))
                number = unsafe sigtimedwait(&taken, nil, &time)
            } else {
                number = unsafe sigwaitinfo(&taken, nil)
            }
            switch number {
            case SIGTERM, SIGINT: return .terminate
            case SIGHUP: return .reload
            case SIGUSR1: return .wake
            default:
                // EINTR: a signal that is not ours (a debugger's). EAGAIN: the deadline.
                if errno == EAGAIN { return nil }
            }
        }
    }

    /// Makes the current or next call of `next` return `.wake`. Any thread.
    package func wake() {
        kill(getpid(), SIGUSR1)
    }

    private static var taken: sigset_t {
        var set = sigset_t()
        unsafe sigemptyset(&set)
        for number in [SIGTERM, SIGINT, SIGHUP, SIGUSR1] { unsafe sigaddset(&set, number) }
        return set
    }
}
