// `make bench-sdk`, with the daemon: the cost of a million events for an application, whether all of them
// arrive, and the effect of a time in which the daemon is not running.
//
//     sdk-daemon-benchmark [EVENTS] [SECONDS AWAY]
//     sdk-daemon-benchmark processes [COUNT]     short processes: each records one event and ends without a flush
import Foundation
import Glibc
import Penstock
import PenstockTesting

/// An event of a shop's application, about 500 bytes on the wire.
enum ShopEvent: AnalyticsEvent {
    case productViewed(thread: Int, number: Int, isNew: Bool, sku: String)
}

/// The CPU seconds that this process has used, and its peak resident memory in MB.
func usage() -> (seconds: Double, megabytes: Int) {
    var usage = rusage()
    unsafe getrusage(__rusage_who_t(RUSAGE_SELF.rawValue), &usage)
    let seconds = { (time: timeval) in Double(time.tv_sec) + Double(time.tv_usec) / 1e6 }
    return (seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss / 1024)
}

func text(_ number: Double, digits: Int = 2) -> String { String(format: "%.\(digits)f", number) }

/// Checks that the file has each thread's numbers completely and in order.
struct Arrivals {
    var events = 0
    var isWhole = true

    /// Skips events that arrived twice.
    init(file: String, threads: Int, each: Int) {
        var next = [Int](repeating: 0, count: threads)
        guard let file = unsafe fopen(file, "r") else {
            isWhole = false
            return
        }
        defer { unsafe fclose(file) }
        var line: UnsafeMutablePointer<CChar>?
        var capacity = 0
        while unsafe getline(&line, &capacity, file) > 0, let text = unsafe line {
            guard let thread = unsafe Self.number(text, "\"thread\":"),
                let number = unsafe Self.number(text, "\"number\":"), thread < threads
            else {
                isWhole = false
                continue
            }
            events += 1
            if number > next[thread] { isWhole = false }
            if number == next[thread] { next[thread] += 1 }
        }
        unsafe free(line)
        if next != [Int](repeating: each, count: threads) { isWhole = false }
    }

    private static func number(_ line: UnsafeMutablePointer<CChar>, _ key: String) -> Int? {
        unsafe strstr(line, key).map { unsafe atol($0 + key.utf8.count) }
    }
}

/// Records events from several threads and waits for the threads.
func record(with analytics: Analytics, threads: Int, from first: Int, each: Int) async {
    await withTaskGroup { group in
        for thread in 0..<threads {
            group.addTask {
                for number in first..<first + each {
                    analytics.track(
                        ShopEvent.productViewed(thread: thread, number: number, isNew: number % 2 == 0, sku: "A-1047"))
                }
            }
        }
    }
}

func fail(_ text: String) -> Never {
    print(text)
    exit(1)
}

switch CommandLine.arguments.dropFirst().first {
case "process": recordOneEvent()
case "processes":
    try await runProcesses(CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 10_000)
    exit(0)
default: break
}

let events = CommandLine.arguments.dropFirst().first.flatMap { Int($0) } ?? 1_000_000
let secondsAway = CommandLine.arguments.dropFirst(2).first.flatMap { Int($0) } ?? 60
let threads = 8
let each = events / threads

func options(_ daemon: LocalDaemon) -> DaemonProvider.Options {
    var options = daemon.providerOptions
    options.spoolBytes = 2 << 30
    return options
}

/// A provider that does nothing.
struct NoProvider: AnalyticsProvider {
    func record(_ event: RecordedEvent) {}
}

/// The cost of a call in µs of the calling thread's CPU time, in the best round.
func callSite(_ provider: some AnalyticsProvider) async -> Double {
    let analytics = Analytics(providers: [provider], userID: "u_4711")
    var best = Double.infinity
    for _ in 0..<10 {
        let calls = 20_000
        let before = nanoseconds(CLOCK_THREAD_CPUTIME_ID)
        for number in 0..<calls {
            analytics.track(ShopEvent.productViewed(thread: 0, number: number, isNew: true, sku: "A-1047"))
        }
        best = min(best, Double(nanoseconds(CLOCK_THREAD_CPUTIME_ID) - before) / 1000 / Double(calls))
        guard await analytics.flush(timeout: .seconds(60)) == .complete else { fail("not flushed") }
    }
    return best
}

func nanoseconds(_ clock: clockid_t) -> Int {
    var time = timespec()
    unsafe clock_gettime(clock, &time)
    return time.tv_sec * 1_000_000_000 + time.tv_nsec
}

// The cost of a call site, alone and while the provider's thread sends.
do {
    let daemon = try LocalDaemon()
    let none = await callSite(NoProvider())
    let sending = await callSite(DaemonProvider(options(daemon)))
    print("a call site: \(text(sending)) µs of its thread's CPU; with a provider that does nothing \(text(none)) µs")
}

// Events as fast as possible.
do {
    let daemon = try LocalDaemon()
    let provider = DaemonProvider(options(daemon))
    let analytics = Analytics(providers: [provider], userID: "u_4711")
    let before = usage()
    let clock = ContinuousClock.now
    await record(with: analytics, threads: threads, from: 0, each: each)
    let recorded = ContinuousClock.now - clock
    while provider.statistics.acknowledged < threads * each { usleep(1000) }
    let acknowledged = ContinuousClock.now - clock
    let after = usage()
    _ = daemon.stop()
    let arrivals = Arrivals(file: daemon.path("events.ndjson"), threads: threads, each: each)
    print(
        "\(events) events from \(threads) threads: recorded in \(text(recorded / .seconds(1))) s, acknowledged after \(text(acknowledged / .seconds(1))) s,",
        "\(text((after.seconds - before.seconds) * 1e6 / Double(events))) µs of CPU an event, \(after.megabytes) MB,",
        "\(provider.statistics.dropped) dropped, \(arrivals.events) in the file, \(arrivals.isWhole ? "each there and in order" : "LOST OR OUT OF ORDER")"
    )
    guard arrivals.isWhole, provider.statistics.dropped == 0 else { exit(1) }
}

// The daemon is not running for a while.
do {
    let daemon = try LocalDaemon()
    let provider = DaemonProvider(options(daemon))
    let analytics = Analytics(providers: [provider], userID: "u_4711")
    var number = 0
    // 8,000 events a second.
    func run(for time: Duration) async throws {
        let end = ContinuousClock.now + time
        while ContinuousClock.now < end {
            await record(with: analytics, threads: threads, from: number, each: 100)
            number += 100
            try await Task.sleep(for: .milliseconds(100))
        }
    }
    try await run(for: .seconds(2))
    _ = daemon.stop()
    let before = usage()
    try await run(for: .seconds(secondsAway))
    let after = usage()
    let spooled = provider.statistics.spooledBytes
    try daemon.start()
    let back = ContinuousClock.now
    try await run(for: .seconds(1))
    while provider.statistics.inMemory > 0 || provider.statistics.spooledBytes > 0 { usleep(1000) }
    let caughtUp = ContinuousClock.now - back
    _ = daemon.stop()
    let arrivals = Arrivals(file: daemon.path("events.ndjson"), threads: threads, each: number)
    print(
        "the daemon away for \(secondsAway) s, 8,000 events/s: \(spooled >> 20) MiB spooled, \(text((after.seconds - before.seconds) / Double(secondsAway) * 100, digits: 1)) % of a CPU,",
        "caught up \(text(caughtUp / .seconds(1))) s after its start, \(provider.statistics.dropped) dropped,",
        "\(arrivals.events) in the file of \(threads * number), \(arrivals.isWhole ? "each there and in order" : "LOST OR OUT OF ORDER")"
    )
    guard arrivals.isWhole, provider.statistics.dropped == 0 else { exit(1) }
}
