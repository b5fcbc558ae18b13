import CLinux
import Glibc

/// Gives way to every other program of the machine: for long work beside a daemon that serves.
package enum BackgroundPriority {
    /// Gives the calling thread, and the threads that it starts from now on, the lowest priority for processors
    /// (SCHED_IDLE and nice 19) and disks (the idle class of ioprio_set(2)). It cannot be undone without privileges. A
    /// sandbox may refuse a part, which changes nothing but the speed of others, so failures are ignored.
    package static func enter() { clinux_enter_background() }

    /// The calling thread's nice value and scheduling policy (sched(7)), for tests.
    package static var current: (nice: Int32, isIdle: Bool) {
        (getpriority(__priority_which_t(0), 0), sched_getscheduler(0) == clinux_idle_policy())
    }
}
