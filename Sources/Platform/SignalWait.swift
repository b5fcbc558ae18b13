import Glibc

/// Signals as the main thread's input: blocked everywhere, taken by one thread that waits for
/// them. No handler runs, so there is nothing that a handler may not do.
package struct SignalWait: Sendable {
    package enum Signal: Sendable, Equatable {
        /// SIGTERM or SIGINT: drain and end.
        case terminate
        /// SIGHUP: read the configuration again.
        case reload
        /// `wake()` was called: look for work. Several calls may come as one.
        case wake
    }

    /// Blocks the signals for the calling thread and all that it will make, and ignores SIGPIPE
    /// (a write to a closed socket is an error code, not the end of the daemon). In main, before
    /// other threads are made.
    package init() {
        var taken = Self.taken
        unsafe pthread_sigmask(SIG_BLOCK, &taken, nil)
        signal(SIGPIPE, SIG_IGN)
    }

    /// Sleeps until a signal comes or the deadline passes (nil: without end).
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

    /// Makes `next` return `.wake`, now or when it is called next. Any thread.
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
