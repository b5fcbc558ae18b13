// sdk-benchmark: what recording an event costs the thread that records it: encoding it, and handing it to
// a provider that does nothing. One line of JSON for each measurement.

import CAllocations
import Foundation
import Penstock
import Synchronization

@main
struct SDKBenchmark {
    private static let usage = """
        usage: sdk-benchmark               time and allocations
               sdk-benchmark allocations   exits with 1 if an event costs more than 4 (a release build's)

        """

    #if DEBUG
        // Code that is not specialised takes a box here and there.
        private static let limit = 40.0
    #else
        private static let limit = 4.0
    #endif

    static func main() {
        switch CommandLine.arguments.dropFirst() {
        case []:
            for (name, record) in recordings { measure(name, record) }
            measureThreads()
        case ["allocations"]:
            var isWithin = true
            for (name, record) in recordings {
                let count = allocations(record)
                print(#"{"event":"\#(name)","allocations":\#(count)}"#)
                if name == "enum", count > limit { isWithin = false }
            }
            exit(isWithin ? 0 : 1)
        default:
            FileHandle.standardError.write(Data(usage.utf8))
            exit(2)
        }
    }

    private static let analytics: Analytics = {
        var options = Analytics.Options()
        options.application = Application(name: "shop", version: "2.1.0")
        return Analytics(providers: [CountingProvider()], userID: "u_4711", options: options)
    }()

    /// What is measured; `enum` is what the SDK promises something about.
    private static let recordings: [(name: String, record: @Sendable (Int) -> Void)] = [
        ("enum", { analytics.track(ShopEvent.orderCompleted(orderID: "A-10042", items: $0, isGift: true)) }),
        ("enum, no properties", { _ in analytics.track(ShopEvent.cartViewed) }),
        ("struct", { analytics.track(OrderCompleted(orderID: "A-10042", items: $0, isGift: true)) }),
        ("dictionary", { analytics.track("Order Completed", ["orderID": "A-10042", "items": .integer(Int64($0)), "isGift": true]) }),
        ("enum, decimal and date", { _ in analytics.track(ShopEvent.paid(total: 12.5, at: Date(timeIntervalSince1970: 1.7e9))) }),
    ]

    private static func allocations(_ record: (Int) -> Void) -> Double {
        let rounds = 1000
        // The first ones make what the later ones use again.
        for round in 0..<100 { record(round) }
        let before = callocations_of_this_thread()
        for round in 0..<rounds { record(round) }
        return Double(callocations_of_this_thread() - before) / Double(rounds)
    }

    private static func measure(_ name: String, _ record: (Int) -> Void) {
        let rounds = 200_000
        for round in 0..<10_000 { record(round) }
        // The best of five, by the thread's own clock: what else the machine does is not what is measured.
        let nanoseconds = (0..<5).map { _ in
            let begin = threadTime()
            for round in 0..<rounds { record(round) }
            return Double(threadTime() - begin) / Double(rounds)
        }.min() ?? 0
        print(#"{"event":"\#(name)","ns_per_event":\#(Int(nanoseconds)),"allocations":\#(allocations(record))}"#)
    }

    /// Nanoseconds for which this thread has been running.
    private static func threadTime() -> Int {
        var time = timespec()
        unsafe clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time)
        return time.tv_sec * 1_000_000_000 + time.tv_nsec
    }

    private static func measureThreads() {
        let rounds = 100_000
        let threads = 8
        let time = ContinuousClock().measure {
            let running = (0..<threads).map { _ in
                let done = DispatchSemaphore(value: 0)
                Thread.detachNewThread {
                    for round in 0..<rounds { analytics.track(ShopEvent.orderCompleted(orderID: "A-10042", items: round, isGift: true)) }
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

/// A provider that costs as little as one can.
final class CountingProvider: AnalyticsProvider {
    let bytes = Atomic(0)

    func record(_ event: RecordedEvent) { bytes.add(event.json.count, ordering: .relaxed) }
}
