// sdk-benchmark: the cost of recording an event for the calling thread. The thread encodes the event and
// passes it to a provider that does nothing. Prints one line of JSON per measurement.

import CAllocations
import Foundation
import Penstock
import Synchronization

@main
struct SDKBenchmark {
    private static let usage = """
        usage: sdk-benchmark               time and allocations
               sdk-benchmark threads       a million events from 8 threads; exits with 1 if one is lost or out of order
               sdk-benchmark fork          records an event in a process and in its child, and prints both
               sdk-benchmark allocations   exits with 1 if an event costs more than 4 (a release build's)

        """

    #if DEBUG
        // Unspecialized code allocates some boxes.
        private static let limit = 80.0
    #else
        private static let limit = 4.0
    #endif

    static func main() {
        switch CommandLine.arguments.dropFirst() {
        case []:
            for (name, record) in recordings { measure(name, record) }
            measureThreads(analytics)
        case ["allocations"]:
            var isWithin = true
            for (name, record) in recordings {
                let count = allocations(record)
                print(#"{"event":"\#(name)","allocations":\#(count)}"#)
                if name == "enum", count > limit { isWithin = false }
            }
            exit(isWithin ? 0 : 1)
        case ["fork"]:
            recordInChild()
        case ["threads"]:
            let order = OrderProvider(threads: threads)
            measureThreads(Analytics(providers: [order]))
            let isWhole = order.isInOrder && order.count == rounds * threads
            print(#"{"events":\#(order.count),"in_order":\#(order.isInOrder)}"#)
            exit(isWhole ? 0 : 1)
        default:
            FileHandle.standardError.write(Data(usage.utf8))
            exit(2)
        }
    }

    /// Prints two events that were recorded at the same place in two processes.
    private static func recordInChild() {
        let analytics = Analytics(providers: [PrintingProvider()])
        let child = fork()
        analytics.track(ShopEvent.cartViewed)
        if child == 0 { exit(0) }
        waitpid(child, nil, 0)
    }

    private static let analytics = makeAnalytics([CountingProvider()])
    private static let withoutProvider = makeAnalytics([])

    private static func makeAnalytics(_ providers: [any AnalyticsProvider]) -> Analytics {
        var options = Analytics.Options()
        options.application = Analytics.Application(name: "shop", version: "2.1.0")
        return Analytics(providers: providers, userID: "u_4711", options: options)
    }

    /// The recordings that are measured. The SDK promises a limit only for `enum`.
    private static let recordings: [(name: String, record: @Sendable (Int) -> Void)] = [
        ("enum", { analytics.track(ShopEvent.orderCompleted(orderID: "A-10042", items: $0, isGift: true)) }),
        (
            "enum, no provider",
            { withoutProvider.track(ShopEvent.orderCompleted(orderID: "A-10042", items: $0, isGift: true)) }
        ),
        ("enum, no properties", { _ in analytics.track(ShopEvent.cartViewed) }),
        ("struct", { analytics.track(OrderCompleted(orderID: "A-10042", items: $0, isGift: true)) }),
        (
            "dictionary",
            {
                analytics.track(
                    "Order Completed", ["orderID": "A-10042", "items": .int($0), "isGift": true])
            }
        ),
        (
            "enum, decimal and date",
            { _ in analytics.track(ShopEvent.paid(total: 12.5, at: Date(timeIntervalSince1970: 1.7e9))) }
        ),
    ]

    private static func allocations(_ record: (Int) -> Void) -> Double {
        let rounds = 1000
        // The first rounds allocate memory that later rounds reuse.
        for round in 0..<100 { record(round) }
        let before = callocations_of_this_thread()
        for round in 0..<rounds { record(round) }
        return Double(callocations_of_this_thread() - before) / Double(rounds)
    }

    private static func measure(_ name: String, _ record: (Int) -> Void) {
        let rounds = 200_000
        for round in 0..<10_000 { record(round) }
        // The best of five by the thread's own clock, so that other work on the machine does not count.
        let nanoseconds =
            (0..<5).map { _ in
                let begin = threadTime()
                for round in 0..<rounds { record(round) }
                return Double(threadTime() - begin) / Double(rounds)
            }.min() ?? 0
        print(#"{"event":"\#(name)","ns_per_event":\#(Int(nanoseconds)),"allocations":\#(allocations(record))}"#)
    }

    /// The processor time of this thread in nanoseconds.
    private static func threadTime() -> Int {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    private static let threads = 8
    private static let rounds = 125_000

    private static func measureThreads(_ analytics: Analytics) {
        let time = ContinuousClock().measure {
            let running = (0..<threads).map { number in
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    let thread = String(number)
                    for round in 0..<rounds {
                        analytics.track(ShopEvent.orderCompleted(orderID: thread, items: round, isGift: true))
                    }
                    done.signal()
                }
                return done
            }
            for done in running { done.wait() }
        }
        print(#"{"threads":\#(threads),"events_per_s":\#(Int(Double(rounds * threads) / (time / .seconds(1))))}"#)
    }
}

enum ShopEvent: AnalyticsEvent {
    case cartViewed
    case orderCompleted(orderID: String, items: Int, isGift: Bool)
    case paid(total: Decimal, at: Date)
}

struct OrderCompleted: AnalyticsEvent {
    var orderID: String
    var items: Int
    var isGift: Bool
}

/// A provider with the least possible cost.
final class CountingProvider: AnalyticsProvider {
    let bytes = Atomic(0)

    func record(_ event: RecordedEvent) { bytes.add(event.json.count, ordering: .relaxed) }
}

struct PrintingProvider: AnalyticsProvider {
    func record(_ event: RecordedEvent) { print(event) }
}

/// Checks that the events of each thread arrive in order.
final class OrderProvider: AnalyticsProvider {
    private let next: Mutex<(numbers: [Int], isInOrder: Bool)>

    init(threads: Int) { next = Mutex((Array(repeating: 0, count: threads), true)) }

    var count: Int { next.withLock { $0.numbers.reduce(0, +) } }
    var isInOrder: Bool { next.withLock { $0.isInOrder } }

    func record(_ event: RecordedEvent) {
        let thread = event[property: "orderID"]?.string.flatMap { Int($0) } ?? 0
        let number = event[property: "items"]?.int ?? -1
        next.withLock { next in
            if next.numbers[thread] != number { next.isInOrder = false }
            next.numbers[thread] += 1
        }
    }
}
