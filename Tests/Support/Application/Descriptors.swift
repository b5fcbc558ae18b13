import Foundation
import Penstock
import Synchronization

#if canImport(Glibc)
    import Glibc
#endif

/// Files that are open only so that the process can open no more.
@MainActor enum TakenDescriptors {
    private static var files: [Int32] = []

    /// Opens files until the process can open only this many more.
    static func takeAll(but rest: Int) {
        var limit = rlimit(rlim_cur: 256, rlim_max: 256)
        unsafe setrlimit(__rlimit_resource_t(RLIMIT_NOFILE.rawValue), &limit)
        // The provider's thread opens and closes files meanwhile.
        var failures = 0
        while failures < 50 {
            let file = unsafe open("/dev/null", O_RDONLY | O_CLOEXEC)
            if file >= 0 {
                files.append(file)
                failures = 0
            } else {
                failures += 1
                usleep(1000)
            }
        }
        for _ in 0..<rest { close(files.removeLast()) }
    }

    static func giveBack() {
        for file in files { close(file) }
        files = []
    }
}

/// The diagnostics that the application waits for.
enum SpoolReports {
    private static let isUnreadable = Atomic(false)

    static var handler: DiagnosticsHandler {
        DiagnosticsHandler { diagnostic in
            DiagnosticsHandler.standardError.report(diagnostic)
            if diagnostic.code == .spoolFailed, diagnostic.message.hasPrefix("cannot read") {
                isUnreadable.store(true, ordering: .relaxed)
            }
        }
    }

    @MainActor static func wait() { poll(until: "the spool cannot be read") { isUnreadable.load(ordering: .relaxed) } }
}

/// Blocks the thread until the condition holds, and ends the process if that takes too long.
@MainActor private func poll(until what: String, _ condition: () -> Bool) {
    let end = ContinuousClock.now + .seconds(60)
    while !condition() {
        if ContinuousClock.now > end {
            say("waited in vain until \(what)")
            exit(1)
        }
        usleep(1000)
    }
}

/// Waits until the spool has no events, also of earlier processes.
@MainActor private func waitUntilSpoolIsEmpty() {
    poll(until: "the spool is empty") {
        let files = FileManager.default.enumerator(atPath: arguments[2])?.map { "\($0)" } ?? []
        return !files.contains { $0.hasSuffix(".ndjson") }
    }
}

/// Spools events, and then has no descriptor to read them with.
@MainActor func spoolWithoutDescriptors(_ count: Int) async {
    // Two flushes: the events are in several files.
    for half in [0..<count / 2, count / 2..<count] {
        record("Parent", half)
        await analytics.flush(timeout: .seconds(60))
    }
    // The provider for the daemon needs one to connect.
    TakenDescriptors.takeAll(but: provider is DaemonProvider ? 1 : 0)
    say("taken")
    SpoolReports.wait()
    TakenDescriptors.giveBack()
    waitUntilSpoolIsEmpty()
    say("sent")
}

/// The provider was made with few descriptors.
@MainActor func recordWithFewDescriptors() async {
    recordAll()
    flushBriefly()
    TakenDescriptors.giveBack()
    await sendAll()
}

@MainActor func purgeWithFewDescriptors() async {
    record("Purged", 0..<1)
    analytics.withdrawConsent(purging: true)
    // When no event is in memory, the provider's thread has purged what it can.
    flushBriefly()
    TakenDescriptors.giveBack()
    waitUntilSpoolIsEmpty()
    say("purged")
    analytics.consent = .on
    recordAll()
    await sendAll()
}

/// A while with few descriptors. Blocking: what an asynchronous wait needs may need descriptors.
@MainActor private func flushBriefly() { analytics.flushBlocking(timeout: .milliseconds(200)) }

@MainActor private func sendAll() async {
    await analytics.flush(timeout: .seconds(60))
    waitUntilSpoolIsEmpty()
    say("sent")
}
