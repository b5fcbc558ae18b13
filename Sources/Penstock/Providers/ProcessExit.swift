import Dispatch

#if canImport(Glibc)
    import Glibc
#elseif canImport(Musl)
    import Musl
#elseif canImport(Android)
    import Android
#elseif canImport(Darwin)
    import Darwin
#endif

/// A provider's client that has events in memory, which it must bring to safety before the process ends.
package protocol ExitObserver: AnyObject, Sendable {
    /// The longest time that it may delay the exit, without that of writes to the spool.
    var exitTimeout: Duration { get }

    /// Brings all events to safety, blocks the calling thread meanwhile, and reports the events that are lost. It needs
    /// no Swift concurrency, because a forked child has none.
    func flushAtExit(until deadline: ContinuousClock.Instant)
}

/// A provider whose flush can block a thread, and then needs no Swift concurrency.
package protocol BlockingFlush: AnalyticsProvider {
    func flushBlocking(until deadline: ContinuousClock.Instant) -> FlushOutcome
}

/// The clients that must act when the process ends by exit(3): by a call of `exit`, or at the end of `main`.
///
/// One handler of atexit(3) serves all clients. The system calls handlers in the reverse order of their registration.
/// A handler of the application that was registered before the first provider therefore runs after this one. If it
/// records events, this handler is registered again, and runs again.
package final class ProcessExit: @unchecked Sendable {
    typealias Instant = ContinuousClock.Instant

    package static let shared: ProcessExit = {
        let exit = ProcessExit()
        Forks.add(exit)
        return exit
    }()

    /// How long a client may take to write its events to the spool when its time has passed. The wait ends as soon as
    /// they are written: only a slow disk, or a machine with far too much to do, needs more than milliseconds.
    package static let spoolingTime: Duration = .seconds(2)
    /// The extra time for a thread that holds a lock, and for a client to report the events that are lost.
    package static let extraTime: Duration = .milliseconds(250)

    private let lock = ForkableLock()
    private var observers: [any ExitObserver] = []
    private var isRegistered = false
    /// The end of the time that all runs of the handler have together; nil before the first run.
    private var limit: Instant?

    /// Adds an observer, and keeps it alive until it is removed.
    package func add(_ observer: any ExitObserver) {
        lock.withLock { observers.append(observer) }
        register()
    }

    package func remove(_ observer: any ExitObserver) {
        lock.withLock { observers.removeAll { $0 === observer } }
    }

    /// Registers the handler, unless it is registered already or has used its time.
    package func register() {
        let isDue = lock.withLock { () -> Bool in
            guard !isRegistered, limit.map({ $0 > .now }) ?? true else { return false }
            isRegistered = true
            return true
        }
        if isDue { atexit(processExits) }
    }

    fileprivate func run() {
        let begin = Instant.now
        // A signal handler that calls exit(3) may have interrupted a thread that holds the lock.
        guard lock.lock(until: begin + Self.extraTime) else { return }
        let observers = observers
        let longest = observers.map(\.exitTimeout).max() ?? .zero
        let limit = limit ?? begin + longest + Self.spoolingTime
        self.limit = limit
        isRegistered = false
        lock.unlock()

        let done = DispatchSemaphore(value: 0)
        for observer in observers {
            let work = { @Sendable in
                observer.flushAtExit(until: min(begin + observer.exitTimeout, limit))
                done.signal()
            }
            // With several clients, each waits in its own thread.
            if observers.count == 1 || !ProviderThread.start(work) { work() }
        }
        let end = DispatchTime.now() + (limit + Self.extraTime - Instant.now).dispatchInterval
        for _ in observers where done.wait(timeout: end) == .timedOut { return }
    }

}

extension ProcessExit: ForkObserver {
    func prepareToFork() { lock.lock() }
    func forkedInParent() { lock.unlock() }
    func forkedInChild() {
        // The child inherits the registration, and has its own time.
        limit = nil
        lock.unlock()
    }
}

// A file-level function, because a closure could be inferred to be isolated to the main actor.
private func processExits() { ProcessExit.shared.run() }

extension ProcessExit {
    /// OpenSSL, which Foundation reaches through libcurl on Linux, frees its memory in a handler of atexit(3), although
    /// other threads may still send requests: a process that ended soon after its first event crashed. The option that
    /// prevents it is documented in OPENSSL_init_crypto(3). It has an effect before OpenSSL is used for the first time.
    /// Without OpenSSL in the process, this does nothing.
    package static let keepOpenSSL: Void = {
        #if canImport(Glibc)
            typealias Initialize = @convention(c) (UInt64, OpaquePointer?) -> Int32
            let withoutExitHandler: UInt64 = 0x80000
            guard let address = unsafe dlsym(nil, "OPENSSL_init_crypto") else { return }
            _ = unsafe unsafeBitCast(address, to: Initialize.self)(withoutExitHandler, nil)
        #endif
    }()
}
