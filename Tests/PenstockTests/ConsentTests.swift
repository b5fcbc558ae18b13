import Penstock
import PenstockTesting
import Synchronization
import Testing

@Suite struct ConsentTests {
    struct Ad: AnalyticsEvent {
        var number: Int
        var consentCategory: ConsentCategory { .marketing }
    }

    @Test func `nothing is recorded without consent`() {
        let rig = Rig(consent: .off)
        rig.analytics.track("1")
        rig.analytics.consent = .on
        rig.analytics.track("2")
        rig.analytics.consent = .off
        rig.analytics.identify("u1")
        #expect(rig.events.map(\.name) == ["2"])
        #expect(rig.analytics.statistics == AnalyticsStatistics(recorded: 1, discarded: 2))
    }

    @Test func `held events are released in order when the user agrees`() {
        let rig = Rig(consent: .undecided)
        for number in 0..<5 { rig.analytics.track("\(number)") }
        #expect(rig.events.isEmpty)
        #expect(rig.analytics.statistics.held == 5)
        rig.analytics.consent = .on
        rig.analytics.track("5")
        #expect(rig.events.map(\.name) == ["0", "1", "2", "3", "4", "5"])
        #expect(rig.analytics.statistics == AnalyticsStatistics(recorded: 6))
    }

    @Test func `held events are discarded when the user declines`() {
        let rig = Rig(consent: .undecided)
        rig.analytics.track("0")
        rig.analytics.consent = .off
        rig.analytics.consent = .on
        #expect(rig.events.isEmpty)
        #expect(rig.analytics.statistics == AnalyticsStatistics(discarded: 1))
    }

    @Test func `consent to a category applies to its events only`() {
        let rig = Rig(consent: .undecided)
        rig.analytics.track(Ad(number: 1))
        rig.analytics.track(ShopEvent.cartViewed)
        rig.analytics.consent = .categories([.analytics], withheld: .hold)
        rig.analytics.track(ShopEvent.cartViewed)
        rig.analytics.track(Ad(number: 2))
        #expect(rig.events.map(\.name) == ["Cart Viewed", "Cart Viewed"])
        #expect(rig.analytics.statistics.held == 2)
        rig.analytics.consent = .categories([.analytics])
        rig.analytics.track(Ad(number: 3))
        rig.analytics.consent = .categories(["marketing"])
        rig.analytics.track(Ad(number: 4))
        #expect(rig.events.last?.properties == ["number": 4])
        #expect(rig.analytics.statistics == AnalyticsStatistics(recorded: 3, discarded: 3))
    }

    @Test func `the number of events that wait for consent is bounded`() {
        let rig = Rig(consent: .undecided) { $0.heldEvents = 3 }
        for number in 0..<13 { rig.analytics.track("\(number)") }
        rig.analytics.consent = .on
        #expect(rig.events.map(\.name) == ["0", "1", "2"])
        #expect(rig.analytics.statistics == AnalyticsStatistics(recorded: 3, dropped: 10))
        #expect(rig.diagnostics.codes == [.heldEventsFull, .heldEventsFull])
        #expect(rig.diagnostics.all.withLock { $0.map(\.events) } == [1, 10])
    }

    final class Flag: Sendable { let isDone = Atomic(false) }

    /// Gives and withdraws consent repeatedly while other threads record.
    @Test func `a thread's events keep their order while consent changes`() async {
        let rig = Rig(consent: .undecided) { $0.heldEvents = 1_000_000 }
        let flag = Flag()
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<4 {
                group.addTask { [analytics = rig.analytics] in
                    for number in 0..<1000 {
                        analytics.track("e", ["thread": .int(thread), "number": .int(number)])
                    }
                }
            }
            let changer = Task { [analytics = rig.analytics] in
                while !flag.isDone.load(ordering: .relaxed) {
                    analytics.consent = .on
                    analytics.consent = .undecided
                    await Task.yield()
                }
            }
            await group.waitForAll()
            flag.isDone.store(true, ordering: .relaxed)
            await changer.value
        }
        rig.analytics.consent = .on
        var next = Array(repeating: 0, count: 4)
        for event in rig.recording.events {
            let thread = event[property: "thread"]?.int ?? 0
            #expect(event[property: "number"]?.int == next[thread])
            next[thread] += 1
        }
        #expect(next == [1000, 1000, 1000, 1000])
    }
}
