import Foundation
import Penstock
import PenstockTesting
import Testing

@Suite struct TimedEventTests {
    let rig = Rig()

    @Test func `a timer records both ends with one id`() throws {
        let timer = rig.analytics.start(ShopEvent.cartViewed)
        timer.stop()
        let events = rig.events
        try #require(events.count == 2)
        let timings = events.compactMap { $0.context["timing"]?.dictionary }
        try #require(timings.count == 2)
        #expect(timings[0] == ["id": timings[1]["id"] ?? nil, "phase": "start"])
        #expect(timings[1]["phase"] == "stop")
        #expect(timings[1]["duration"]?.double.map { $0 >= 0 } == true)
        #expect(events.map(\.name) == ["Cart Viewed", "Cart Viewed"])
        #expect(events[0].timing?.phase == .start)
        #expect(events[1].timing?.id == events[0].timing?.id)
        #expect(events[1].timing?.seconds != nil)
    }

    @Test func `the context of a timed event keeps its other members`() throws {
        rig.analytics.setContext("campaign", to: "spring")
        rig.analytics.measure(ShopEvent.cartViewed) {}
        #expect(rig.events.map { $0.context.keys.sorted() } == [["campaign", "timing"], ["campaign", "timing"]])
    }

    @Test func `the end of a timed event may have more properties than its start`() {
        let timer = rig.analytics.start(ShopEvent.couponApplied(code: nil))
        timer.stop(with: .couponApplied(code: "X"))
        #expect(rig.events.map(\.properties) == [[:], ["code": "X"]])
    }

    @Test func `both ends may have times and ids of their own`() throws {
        let start = Date(timeIntervalSince1970: 1_700_000_000)
        rig.analytics.start(ShopEvent.cartViewed, at: start, messageID: "a").stop(at: start + 90, messageID: "b")
        let timer = rig.analytics.timer(ShopEvent.cartViewed, at: start)
        timer.stop(at: start - 1)
        rig.analytics.of(ShopEvent.self).timer(.cartViewed, at: .distantPast)
            .stop(with: .cartViewed, at: Date(timeIntervalSince1970: .infinity))
        let events = rig.events
        #expect(events.prefix(2).map(\.messageID) == ["a", "b"])
        #expect(events[2].messageID != "" && events[2].messageID != events[3].messageID)
        #expect(events.prefix(2).map(\.timestamp) == [start, start + 90])
        #expect(events.compactMap { $0.timing?.seconds } == [90, 0, 1e9])
        rig.analytics.start(ShopEvent.cartViewed, at: Date() - 600).stop()
        rig.analytics.start(ShopEvent.cartViewed).stop(at: Date() + 600)
        let seconds = rig.events.suffix(4).compactMap { $0.timing?.seconds }
        #expect(seconds.count == 2 && seconds.allSatisfy { (599...).contains($0) }, "\(seconds)")
    }

    @Test func `two timers of one event have different ids`() {
        let first = rig.analytics.start(ShopEvent.cartViewed)
        let second = rig.analytics.start(ShopEvent.cartViewed)
        first.stop()
        second.stop()
        let ids = rig.events.map { $0.timing?.id }
        #expect(ids[0] == ids[2] && ids[1] == ids[3] && ids[0] != ids[1])
    }

    @Test func `a forgotten timer is reported, but a cancelled one is not`() {
        do { _ = rig.analytics.start(ShopEvent.cartViewed) }
        #expect(rig.diagnostics.codes == [.timerForgotten])
        rig.analytics.start(ShopEvent.cartViewed).cancel()
        #expect(rig.diagnostics.codes.count == 1)
        #expect(rig.events.map { $0.timing?.phase } == [.start, .start])
    }

    struct Failure: Error {}

    @Test func `a measured closure returns and throws as without measuring`() async throws {
        #expect(rig.analytics.measure(ShopEvent.cartViewed) { 7 } == 7)
        #expect(throws: Failure.self) {
            try rig.analytics.measure(ShopEvent.cartViewed) { () throws(Failure) in throw Failure() }
        }
        let text = await rig.analytics.measure(ShopEvent.cartViewed) {
            await Task.yield()
            return "x"
        }
        #expect(text == "x")
        #expect(rig.events.count == 6)
        #expect(rig.events.compactMap { $0.timing?.seconds }.count == 3)
    }

    /// A minimal sender: it implements the required methods only.
    struct Doubled: EventSending {
        let analytics: Analytics
        func send<Event: AnalyticsEvent>(_ event: Event, _ details: EventDetails) {
            analytics.send(event, details)
            analytics.send(event, details)
        }
        func report(_ diagnostic: Diagnostic) { analytics.report(diagnostic) }
    }

    @Test func `every sender of events can time them`() {
        let events: any EventSending = Doubled(analytics: rig.analytics)
        events.track("plain")
        events.start(ShopEvent.cartViewed).stop()
        #expect(rig.events.count == 6)
        // What it does not implement is reported with the place of the call.
        events.screen("Inbox")
        #expect(rig.events.count == 6)
        #expect(rig.diagnostics.codes == [.invalid])
        #expect(rig.diagnostics.messages[0].hasPrefix(#"screen "Inbox" at PenstockTests/TimedEventTests.swift:"#))
    }

    // MARK: Timers that are kept

    private func phases() -> [EventTiming.Phase?] {
        rig.events.map { event in
            if case .stop? = event.timing?.phase { .stop(duration: .zero) } else { event.timing?.phase }
        }
    }
    private let both: [EventTiming.Phase?] = [.start, .stop(duration: .zero)]

    @Test func `a kept timer ends in a defer`() throws {
        func work(_ fails: Bool) throws {
            let timer = rig.analytics.timer(ShopEvent.cartViewed)
            defer { timer.stop() }
            if fails { throw Failure() }
        }
        #expect(throws: Failure.self) { try work(true) }
        #expect(phases() == both)
    }

    @Test func `a kept timer ends in a task and in an escaping closure`() async {
        let timer = rig.analytics.timer(ShopEvent.couponApplied(code: nil))
        await Task.detached { timer.stop(with: .couponApplied(code: "X")) }.value
        #expect(rig.events.map(\.properties) == [[:], ["code": "X"]])
        let other = rig.analytics.of(ShopEvent.self).timer(.cartViewed)
        let completion: @Sendable () -> Void = { other.stop() }
        completion()
        #expect(phases() == both + both)
    }

    final class Player {
        var timer: SharedEventTimer<ShopEvent>?
        let events: any EventSending
        init(_ events: any EventSending) { self.events = events }
        func play() { timer = events.timer(ShopEvent.cartViewed) }
        func pause() { timer?.stop() }
    }

    @Test func `a timer in a property ends once, and a forgotten one is reported with its place`() {
        let player = Player(rig.analytics)
        player.play()
        player.pause()
        player.pause()
        #expect(player.timer?.isEnded == true)
        #expect(phases() == both)
        player.play()
        player.timer = nil
        #expect(rig.diagnostics.codes == [.timerForgotten])
        #expect(rig.diagnostics.messages[0].hasPrefix(#""Cart Viewed" at PenstockTests/TimedEventTests.swift:"#))
        player.play()
        player.timer?.cancel()
        player.timer = nil
        #expect(rig.diagnostics.codes.count == 1)
        #expect(phases() == both + [.start, .start])
    }

    @Test func `many threads that stop a kept timer record one end`() async {
        let timer = rig.analytics.timer(ShopEvent.cartViewed)
        await withTaskGroup { group in
            for _ in 0..<50 { group.addTask { timer.stop() } }
        }
        #expect(phases() == both)
    }
}
