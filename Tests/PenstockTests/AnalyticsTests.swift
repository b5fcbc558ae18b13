import Foundation
import Penstock
import PenstockTesting
import Synchronization
import TestSupport
import Testing

/// Providers, middleware, super properties, identity.
@Suite struct AnalyticsTests {
    let rig = Rig()

    @Test func `super properties are added, and an event's own properties take precedence`() {
        rig.analytics.superProperties = ["plan": "pro", "orderID": "none"]
        rig.analytics.registerSuperProperties(["theme": "dark"])
        rig.analytics.track(ShopEvent.orderCompleted(orderID: "A1", total: 1))
        rig.analytics.unregisterSuperProperty("theme")
        rig.analytics.screen("Inbox")
        rig.analytics.identify("u1")
        #expect(
            rig.events.map(\.properties) == [
                ["orderID": "A1", "total": 1, "plan": "pro", "theme": "dark"], ["plan": "pro", "orderID": "none"], [:],
            ])
        #expect(rig.events[2].traits.isEmpty)
    }

    @Test func `the context describes where the event was recorded`() throws {
        let rig = Rig(automaticContext: .all) {
            $0.application = Analytics.Application(name: "shop", version: "2.1.0", build: "77", instanceID: "i-1")
        }
        rig.analytics.setContext("campaign", to: ["name": "spring"])
        rig.analytics.setContext("locale", to: "tlh")
        rig.analytics.track(ShopEvent.cartViewed)
        let context = try rig.event().context
        #expect(context["app"] == ["name": "shop", "version": "2.1.0", "build": "77", "instanceId": "i-1"])
        #expect(context["library"]?.dictionary?["name"] == "penstock-swift")
        #expect(context["process"]?.dictionary?["pid"] == .int(Int(ProcessInfo.processInfo.processIdentifier)))
        #expect(context["host"]?.dictionary?["name"]?.string?.isEmpty == false)
        #expect(context["os"]?.dictionary?["name"]?.string?.isEmpty == false)
        #expect(context["timezone"]?.string?.isEmpty == false)
        #expect(context["campaign"] == ["name": "spring"])
        #expect(context["locale"] == "tlh")
        #expect(rig.analytics.context == context)
        rig.analytics.setContext("campaign", to: nil)
        rig.analytics.track(ShopEvent.cartViewed)
        #expect(rig.events[1].context["campaign"] == nil)
    }

    final class SlowProvider: AnalyticsProvider {
        func record(_ event: RecordedEvent) {}
        func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome {
            // This provider ignores its deadline.
            await Task.detached { try? await Task.sleep(for: .seconds(3600)) }.value
            return .complete
        }
    }
    struct LaggingProvider: AnalyticsProvider {
        let name = "lagging"
        func record(_ event: RecordedEvent) {}
        func flush(until deadline: ContinuousClock.Instant) async -> FlushOutcome { .pending(events: 7) }
    }

    @Test func `providers can be added, disabled, replaced and removed at run time`() {
        let other = RecordingProvider(name: "other")
        rig.analytics.track("1")
        rig.analytics.add(other)
        rig.analytics.track("2")
        rig.analytics.setProvider(named: "other", isEnabled: false)
        #expect(!rig.analytics.isProviderEnabled(named: "other"))
        rig.analytics.track("3")
        rig.analytics.setProvider(named: "other", isEnabled: true)
        rig.analytics.track("4")
        let replacement = RecordingProvider(name: "other")
        rig.analytics.add(replacement)
        rig.analytics.track("5")
        #expect(rig.analytics.removeProvider(named: "other") as? RecordingProvider === replacement)
        #expect(rig.analytics.removeProvider(named: "other") == nil)
        rig.analytics.track("6")
        #expect(rig.events.map(\.name) == ["1", "2", "3", "4", "5", "6"])
        #expect(other.events.map(\.name) == ["2", "4"])
        #expect(replacement.events.map(\.name) == ["5"])
        rig.analytics.setProvider(named: "other", isEnabled: true)
        #expect(rig.diagnostics.codes == [.providerReplaced, .notFound])
        #expect(rig.diagnostics.messages[0].hasPrefix(#"the provider "other" was replaced"#))
        #expect(rig.diagnostics.messages[1] == #"there is no provider "other"; there are: "RecordingProvider""#)
    }

    @Test func `two providers of one type both work, and have names of their own`() {
        let (second, third) = (RecordingProvider(), RecordingProvider())
        #expect(rig.analytics.add(second) == "RecordingProvider 2")
        #expect(rig.analytics.add(third, named: "third") == "third")
        rig.analytics.track("1")
        rig.analytics.setProvider(named: "RecordingProvider 2", isEnabled: false)
        rig.analytics.track("2")
        #expect([rig.recording, second, third].map(\.events.count) == [2, 1, 2])
        // The same object again is not a second provider.
        #expect(rig.analytics.add(second) == "RecordingProvider 2")
        #expect(rig.analytics.providers.count == 3)
        #expect(rig.diagnostics.codes.isEmpty)
        // A name that the application gives replaces the provider of that name.
        rig.analytics.add(LoggingProvider(name: "third"))
        #expect(rig.diagnostics.codes == [.providerReplaced])
        #expect(rig.analytics.providers.count == 3)
    }

    @Test func `two providers in the initializer both work`() {
        let providers = [RecordingProvider(), RecordingProvider()]
        Analytics(providers: providers).track("1")
        #expect(providers.map(\.events.count) == [1, 1])
    }

    @Test func `middleware enriches, filters and redacts in order`() {
        rig.analytics.use(.enrich { $0[property: "step"] = .string(($0[property: "step"]?.string ?? "") + "a") })
        rig.analytics.use(.filter { $0.name != "Heartbeat" })
        rig.analytics.use(.enrich { $0[property: "step"] = .string(($0[property: "step"]?.string ?? "") + "b") })
        rig.analytics.use(.redact("email"))
        rig.analytics.track("Heartbeat")
        rig.analytics.track("Signed Up", ["email": "a@b.c", "friends": [["email": "d@e.f", "age": 7]]])
        rig.analytics.identify("u1", traits: ["email": "a@b.c", "plan": "pro"])
        #expect(rig.events.map(\.properties) == [["step": "ab", "friends": [["age": 7]]], ["step": "ab"]])
        #expect(rig.events[1].traits == ["plan": "pro"])
        #expect(rig.analytics.statistics == AnalyticsStatistics(recorded: 2, filtered: 1))
        rig.analytics.middleware = []
        rig.analytics.track("Heartbeat")
        #expect(rig.events.count == 3)
    }

    @Test func `an identified user is on every event until reset`() {
        let anonymous = rig.analytics.anonymousID
        rig.analytics.track("1")
        rig.analytics.identify("u1")
        rig.analytics.track("2")
        rig.analytics.reset()
        rig.analytics.track("3")
        #expect(rig.events.map(\.userID) == [nil, "u1", "u1", nil])
        #expect(rig.events.prefix(3).allSatisfy { $0.anonymousID == anonymous })
        #expect(rig.events[3].anonymousID == rig.analytics.anonymousID && rig.analytics.anonymousID != anonymous)
    }

    @Test func `a scope has its own identity`() {
        rig.analytics.identify("main")
        rig.analytics.superProperties = ["server": "a"]
        let scoped = rig.analytics.scoped(toUser: "u1")
        scoped.superProperties["request"] = 1
        scoped.track("1")
        rig.analytics.track("2")
        scoped.identify("u2")
        #expect(rig.events.map(\.userID) == ["main", "u1", "main", "u2"])
        #expect(rig.events.map(\.properties) == [[:], ["server": "a", "request": 1], ["server": "a"], [:]])
        #expect(rig.events[1].anonymousID != rig.events[2].anonymousID)
        #expect(rig.analytics.userID == "main")
    }

    @Test func `a scope invents no id`() throws {
        let scoped = rig.analytics.scoped(toUser: nil, anonymousID: "cookie")
        #expect(scoped.anonymousID == "cookie" && scoped.userID == nil)
        scoped.track("1")
        rig.analytics.scoped(toUser: "u1").track("2")
        rig.analytics.scoped(toUser: "u1", anonymousID: "cookie").track("3")
        #expect(rig.events.map(\.userID) == [nil, "u1", "u1"])
        #expect(rig.events.map(\.anonymousID) == ["cookie", nil, "cookie"])
        rig.analytics.scoped(toUser: nil).track("4")
        rig.analytics.scoped(toUser: nil, anonymousID: "").alias("u2")
        #expect(rig.events.count == 3)
        #expect(rig.diagnostics.codes == [.invalid, .invalid])
        #expect(rig.diagnostics.messages[0].contains("neither a user id nor an anonymous id"))
    }

    @Test func `a kept anonymous id survives the process, and changes with the user`() throws {
        let directory = try TemporaryDirectory()
        let file = directory.path + "/state/anonymous-id"
        func run() -> Rig { Rig { $0.anonymousIDFile = file } }
        let first = run()
        #expect(run().analytics.anonymousID == first.analytics.anonymousID)
        first.analytics.scoped(toUser: "other").reset()
        #expect(run().analytics.anonymousID == first.analytics.anonymousID)
        let before = first.analytics.anonymousID
        first.analytics.reset()
        #expect(first.analytics.anonymousID != before)
        #expect(run().analytics.anonymousID == first.analytics.anonymousID)
        try directory.write("state/anonymous-id", String(repeating: "x", count: 10_000))
        #expect(run().analytics.anonymousID?.count == 36)
        let failing = Rig { $0.anonymousIDFile = "/proc/none/anonymous-id" }
        #expect(failing.diagnostics.codes == [.anonymousIDNotKept])
    }

    @Test func `every call takes a time and an id`() throws {
        let date = Date(timeIntervalSince1970: 1_769_860_800.5)
        let analytics = rig.analytics
        analytics.track(ShopEvent.cartViewed, at: date, messageID: "m1")
        analytics.track("x", ["a": 1], at: date, messageID: "m2")
        analytics.track("x", ["a": date], at: date, messageID: "m3")
        analytics.of(ShopEvent.self).track(.cartViewed, at: date, messageID: "m4")
        analytics.identify("u1", traits: ["n": 1], at: date, messageID: "m5")
        analytics.page("p", at: date, messageID: "m6")
        analytics.screen("s", ["a": 1], at: date, messageID: "m7")
        analytics.group("g", at: date, messageID: "m8")
        analytics.alias("u2", at: date, messageID: "m9 \"quoted\"")
        #expect(rig.events.map(\.messageID) == (1...8).map { "m\($0)" } + ["m9 \"quoted\""])
        #expect(rig.events.allSatisfy { $0.timestamp == date })
        analytics.track("x", messageID: "")
        #expect(UUID(uuidString: rig.events[9].messageID) != nil)
    }

    @Test func `the trace's id is recorded in the context`() {
        let trace = Mutex<String?>("4bf92f3577b34da6a3ce929d0e0e4736")
        let rig = Rig { $0.traceID = { trace.withLock { $0 } } }
        rig.analytics.track("1")
        rig.analytics.measure(ShopEvent.cartViewed) {}
        trace.withLock { $0 = nil }
        rig.analytics.track("2")
        #expect(
            rig.events.map { $0[context: "trace"] }
                == Array(repeating: ["id": "4bf92f3577b34da6a3ce929d0e0e4736"], count: 3) + [nil])
        #expect(rig.events[1].timing?.phase == .start)
    }

    @Test func `reset leaves the context that the application has set`() {
        rig.analytics.setContext("build", to: "release")
        rig.analytics.identify("u1")
        rig.analytics.reset()
        rig.analytics.track("1")
        #expect(rig.events[1].context == ["build": "release"] && rig.events[1].userID == nil)
    }

    @Test func `a flush ends at its deadline, whatever a provider does`() async {
        #expect(await rig.analytics.flush() == .complete)
        rig.analytics.add(LaggingProvider())
        #expect(await rig.analytics.flush() == .pending(events: 7))
        rig.analytics.add(SlowProvider())
        #expect(await rig.analytics.flush(timeout: .milliseconds(20)) == .pending(events: 8))
    }

    /// A wrapper of a vendor's SDK, as articles about analytics layers call it.
    struct VendorDouble: VendorProvider {
        let calls: Calls
        final class Calls: Sendable { let all = Mutex<[String]>([]) }
        func track(_ event: RecordedEvent) {
            calls.all.withLock { $0.append("\(event.name) \(event.properties.keys.sorted())") }
        }
    }

    @Test func `an event that a vendor lacks becomes its closest equivalent`() {
        let vendor = VendorDouble(calls: .init())
        rig.analytics.add(vendor)
        rig.analytics.track(ShopEvent.orderCompleted(orderID: "A1", total: 1))
        rig.analytics.identify("u1")
        rig.analytics.screen("Inbox", ["unread": 3])
        rig.analytics.page("")
        rig.analytics.group("g")
        rig.analytics.alias("u2")
        rig.analytics.measure(ShopEvent.cartViewed) {}
        #expect(
            vendor.calls.all.withLock { $0 } == [
                #"Order Completed ["orderID", "total"]"#, #"Viewed Inbox Screen ["unread"]"#, "Viewed Page []",
                #"Cart Viewed ["duration"]"#,
            ])
    }

    /// A mapper without a default case.
    struct Mapper: TypedProvider {
        let calls = VendorDouble.Calls()
        func record(_ event: ShopEvent, as recorded: RecordedEvent) {
            switch event {
            case .cartViewed: say("cart \(recorded.timing == nil ? "" : "timed")")
            case .orderCompleted(_, let total): say("order \(total)")
            case .couponApplied: say("coupon \(recorded.userID ?? "-")")
            }
        }
        func recordOther(_ event: RecordedEvent) { say("other \(event.kind.rawValue)") }
        private func say(_ text: String) { calls.all.withLock { $0.append(text) } }
    }

    @Test func `a typed provider switches over the application's events`() {
        let rig = Rig(consent: .undecided)
        let mapper = Mapper()
        rig.analytics.add(mapper)
        rig.analytics.use(.redact("code"))
        rig.analytics.track(ShopEvent.cartViewed)
        rig.analytics.consent = .on
        rig.analytics.track(ShopEvent.orderCompleted(orderID: "A1", total: 12.5))
        rig.analytics.identify("u1")
        rig.analytics.track("x")
        rig.analytics.track(ShopEvent.couponApplied(code: nil))
        // What was redacted does not arrive as a value.
        rig.analytics.track(ShopEvent.couponApplied(code: "secret"))
        #expect(
            mapper.calls.all.withLock { $0 } == [
                "cart ", "order 12.5", "other identify", "other track", "coupon u1", "other track",
            ]
        )
    }

    @Test func `middleware of one provider changes only its events`() {
        let other = RecordingProvider()
        rig.analytics.add(other, named: "other", middleware: [.filter { $0.name != "2" }, .redact("email")])
        for name in ["1", "2"] { rig.analytics.track(name, ["email": "a@b.c"]) }
        #expect(rig.events.map(\.properties) == [["email": "a@b.c"], ["email": "a@b.c"]])
        #expect(other.events.map(\.name) == ["1"] && other.events[0].properties.isEmpty)
        #expect(rig.analytics.statistics.recorded == 2)
    }

    @Test func `the events of many threads are all recorded, each thread's in order`() async {
        // Debug builds are slow. The benchmark does this with a million events.
        let (threads, count) = (8, 12_500)
        await withTaskGroup(of: Void.self) { group in
            for thread in 0..<threads {
                group.addTask { [analytics = rig.analytics] in
                    for number in 0..<count {
                        analytics.track("e", ["thread": .int(thread), "number": .int(number)])
                    }
                }
            }
        }
        var next = Array(repeating: 0, count: threads)
        for event in rig.recording.events {
            let thread = event[property: "thread"]?.int ?? 0
            #expect(event[property: "number"]?.int == next[thread])
            next[thread] += 1
        }
        #expect(next == Array(repeating: count, count: threads))
        #expect(rig.analytics.statistics.recorded == threads * count)
    }

    @Test func `an event that is recorded inside another one does not disturb it`() throws {
        let analytics = rig.analytics
        analytics.track(
            EventEncodingTests.ByHand { encoder in
                var container = encoder.container(keyedBy: EventEncodingTests.Key.self)
                try container.encode(1, forKey: .a)
                analytics.track(ShopEvent.cartViewed)
                try container.encode(2, forKey: .b)
            })
        #expect(rig.events.map(\.name) == ["Cart Viewed", "By Hand"])
        #expect(rig.events[1].properties == ["a": 1, "b": 2])
    }

    @Test func `a removed provider is released`() {
        weak var kept: RecordingProvider?
        do {
            let other = RecordingProvider(name: "other")
            kept = other
            rig.analytics.add(other)
            rig.analytics.track("1")
            rig.analytics.removeProvider(named: "other")
        }
        #expect(kept == nil)
    }
}
