import Foundation
import Penstock

#if canImport(Glibc)
    import Glibc
#endif

/// The ways in which a process ends.
enum Ending: String {
    /// `main` returns.
    case returning
    case exit
    /// `main` returns, and there are two providers.
    case pair
    /// exit(3) in another thread.
    case thread
    /// A handler of SIGTERM calls exit(3).
    case handler
    /// The same for SIGINT.
    case interrupt
    /// A dispatch source receives SIGTERM and calls exit(3).
    case source
    /// The provider has been released shortly before.
    case released
    /// Events are recorded by a handler of atexit(3) that runs after the provider's.
    case late
    /// Other threads record while the process ends.
    case busy
    /// A forked child returns from `main`.
    case child
    /// A blocking flush, and then a way that runs no handlers.
    case blocking
    /// Waits for the cancellation of a task, as a service of ServiceLifecycle does.
    case service

    // These run no handlers.
    case immediately
    case quick
    case crash
    case terminated
    case exec
}

/// The number of events to record.
private let eventCount = CommandLine.arguments.last.flatMap { Int($0) } ?? 0

func recordAll(_ name: String = "Parent") { record(name, 0..<eventCount) }

/// Records all events: the first one some time before the fork, the others right before it. Each path of DaemonProvider
/// that the child takes has then been taken: Swift's runtime has locks of its own for types that are used for the first
/// time, and one that another thread holds while the process forks stays locked in the child.
@MainActor func recordAllBeforeFork() {
    guard eventCount > 0 else { return }
    let ended = DispatchSemaphore(value: 0)
    Thread.detachNewThread {
        record("Parent", 0..<1)
        ended.signal()
    }
    ended.wait()
    waitUntilNothingIsInMemory()
    record("Parent", 1..<eventCount)
}

func recordLate() { recordAll() }
private func exitOnSignal(_ signal: Int32) { Foundation.exit(0) }

@MainActor private func recordFromReleasedProvider() {
    let analytics = Analytics(providers: [makeProvider()], userID: "u")
    for number in 0..<eventCount { analytics.track("Parent", ["number": .int(number)]) }
}

/// Foundation's `Process` passes on the signals that the thread of the test blocks.
private func unblockSignals() {
    var all = sigset_t()
    unsafe sigfillset(&all)
    unsafe pthread_sigmask(SIG_UNBLOCK, &all, nil)
}

@MainActor func end(_ way: Ending) async {
    unblockSignals()
    switch way {
    case .late, .released: break
    case .child: recordAllBeforeFork()
    default: recordAll()
    }
    switch way {
    case .returning, .pair, .late: return
    case .exit: Foundation.exit(3)
    case .thread:
        Thread.detachNewThread { Foundation.exit(3) }
        while true { pause() }
    case .handler:
        signal(SIGTERM, exitOnSignal)
        kill(getpid(), SIGTERM)
        while true { pause() }
    case .interrupt:
        signal(SIGINT, exitOnSignal)
        kill(getpid(), SIGINT)
        while true { pause() }
    case .source:
        signal(SIGTERM, SIG_IGN)
        let source = DispatchSource.makeSignalSource(signal: SIGTERM, queue: .global())
        source.setEventHandler { Foundation.exit(3) }
        source.setRegistrationHandler { kill(getpid(), SIGTERM) }
        source.resume()
        try? await Task.sleep(for: .seconds(600))
    case .released: recordFromReleasedProvider()
    case .busy:
        for _ in 0..<2 {
            Thread.detachNewThread {
                while true {
                    analytics.track("Other")
                    usleep(20)
                }
            }
        }
    case .child:
        let child = forkProcess()
        if child == 0 { return recordAll("Child") }
        var status: Int32 = 0
        unsafe waitpid(child, &status, 0)
        _exit(status)
    case .blocking:
        let outcome = flushBlocking()
        say("\(outcome)")
        _exit(0)
    case .service:
        let service = Task {
            while !Task.isCancelled { try? await Task.sleep(for: .seconds(600)) }
            await analytics.flush()
        }
        service.cancel()
        await service.value
        _exit(0)
    case .immediately: _exit(3)
    case .quick: quick_exit(3)
    case .crash: fatalError("the test asks for a crash")
    case .terminated: kill(getpid(), SIGTERM)
    case .exec:
        var arguments: [UnsafeMutablePointer<CChar>?] = unsafe [strdup("/bin/true"), nil]
        unsafe execv("/bin/true", &arguments)
    }
}

/// A function that is not asynchronous.
@MainActor private func flushBlocking() -> FlushOutcome { analytics.flushBlocking(timeout: .seconds(60)) }
