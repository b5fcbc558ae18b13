import CLinux
import Glibc
import Synchronization

/// A dedicated thread for work that may block. It starts with every signal blocked (the main thread handles them) and
/// has a name that `top -H` and debuggers show.
package final class WorkerThread: @unchecked Sendable {
    private final class Body {
        let name: String
        let run: @Sendable () -> Void
        init(name: String, run: @escaping @Sendable () -> Void) {
            self.name = name
            self.run = run
        }
    }

    private struct Running {
        var name: String
        var processorTime: clockid_t
    }

    private static let running = Mutex<[UInt64: Running]>([:])

    private var handle = pthread_t()

    /// Starts the thread.
    /// - Parameter name: at most 15 bytes are shown (prctl(2), PR_SET_NAME).
    /// - Precondition: the process may create another thread. The daemon cannot work without it.
    package convenience init(name: String, _ run: @escaping @Sendable () -> Void) {
        do throws(SystemError) { try self.init(trying: name, run) } catch {
            preconditionFailure("\(error): raise the limit of tasks (TasksMax=)")
        }
    }

    /// Starts the thread, for work that can wait.
    /// - Throws: the process may not create another thread now.
    package init(trying name: String, _ run: @escaping @Sendable () -> Void) throws(SystemError) {
        let body = unsafe Unmanaged.passRetained(Body(name: name, run: run)).toOpaque()
        var all = sigset_t()
        var before = sigset_t()
        unsafe sigfillset(&all)
        unsafe pthread_sigmask(SIG_SETMASK, &all, &before)
        let error = unsafe pthread_create(&handle, nil, workerThreadMain, body)
        unsafe pthread_sigmask(SIG_SETMASK, &before, nil)
        guard error == 0 else {
            unsafe Unmanaged<Body>.fromOpaque(body).release()
            throw SystemError("pthread_create", code: error)
        }
    }

    /// Asks the kernel to run the calling thread as soon as it wakes, also while other threads keep all processors
    /// busy. In return, it runs for a short time at once. For threads that clients wait for and that do little at a
    /// time.
    ///
    /// Without effect where the kernel is older than Linux 6.12 or a sandbox forbids it.
    package static func preferLatency() {
        _ = clinux_time_slice(100_000)
    }

    /// Gives the calling thread about a sixth of the share of the process's other threads while they compete for the
    /// processors (a nice value that is 8 higher). For threads that always have work for clients that send much.
    ///
    /// Without effect where a sandbox forbids it.
    package static func giveWay() {
        _ = clinux_lower_priority(8)
    }

    /// Lets waits of the calling thread end when they should. By default, the kernel delays the end of each by up to 50
    /// microseconds, in the hope of others at the same time (PR_SET_TIMERSLACK).
    package static func sleepPrecisely() {
        clinux_timer_slack(1)
    }

    /// Waits until the thread has ended. Call once, from another thread.
    package func join() {
        pthread_join(handle, nil)
    }

    /// Identifies the calling thread as long as it lives.
    package static var current: UInt64 { UInt64(pthread_self()) }

    /// The processor time that the calling thread has used.
    package static var processorTime: Duration { .nanoseconds(SystemClock.read(CLOCK_THREAD_CPUTIME_ID)) }

    /// The processor time that each running thread of this type has used, by its name. Those with the same name count
    /// together.
    package static var processorTimes: [String: Duration] {
        running.withLock { running in
            running.values.reduce(into: [:]) { times, thread in
                times[thread.name, default: .zero] += .nanoseconds(SystemClock.read(thread.processorTime))
            }
        }
    }

    fileprivate static func main(_ argument: UnsafeMutableRawPointer?) {
        guard let argument = unsafe argument else { return }
        let body = unsafe Unmanaged<Body>.fromOpaque(argument).takeRetainedValue()
        _ = unsafe clinux_name_thread(String(body.name.prefix(15)))
        var clock = clockid_t()
        if unsafe pthread_getcpuclockid(pthread_self(), &clock) == 0 {
            running.withLock { $0[current] = Running(name: body.name, processorTime: clock) }
        }
        // While it is listed, its clock exists.
        defer { _ = running.withLock { $0.removeValue(forKey: current) } }
        body.run()
    }
}

// A file-level function: a closure literal here could be inferred as @MainActor, and would then abort on another
// thread.
private func workerThreadMain(_ argument: UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer? {
    unsafe WorkerThread.main(argument)
    return nil
}
