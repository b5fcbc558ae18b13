import Foundation
import Penstock
import PenstockTesting
import Testing

/// Calls as applications write them: literals, variables, leading dots.
@Suite struct CallSiteTests {
    let rig = Rig()

    enum Plan: String, PropertyValueConvertible { case free, pro }

    @Test func `properties and traits take variables`() throws {
        let (liked, count, score, name) = (true, 3, 4.5, "Ada")
        let coupon: String? = nil
        let date = Date(timeIntervalSince1970: 0)
        let url = try #require(URL(string: "https://example.org/a"))
        let id = try #require(UUID(uuidString: "00000000-0000-4000-8000-00000000000A"))
        rig.analytics.track("Post Liked", ["Liked": liked])
        rig.analytics.track("Post Liked", ["Liked": liked, "n": count, "score": score, "name": name, "coupon": coupon])
        rig.analytics.track(
            "Post Liked",
            [
                "at": date, "url": url, "id": id, "price": Decimal(string: "12.50"), "tags": ["a", name],
                "plan": Plan.pro,
                "sizes": ["a": count], "large": UInt64.max, "nothing": nil, "sum": count + 1, "text": "\(count) posts",
            ])
        rig.analytics.identify("u", traits: ["n": count])
        rig.analytics.identify("u", traits: ["n": count, "name": name, "plan": Plan.free])
        rig.analytics.screen("Inbox", ["unread": count])
        rig.analytics.page("Inbox", category: "Mail", ["unread": count, "name": name])
        rig.analytics.group("g", traits: ["seats": count])
        let events = rig.events
        try #require(events.count == 8)
        #expect(events[0].properties == ["Liked": true])
        #expect(events[1].properties == ["Liked": true, "n": 3, "score": 4.5, "name": "Ada", "coupon": nil])
        #expect(
            events[2].properties == [
                "at": "1970-01-01T00:00:00.000Z", "url": "https://example.org/a",
                "id": "00000000-0000-4000-8000-00000000000A", "price": 12.5, "tags": ["a", "Ada"], "plan": "pro",
                "sizes": ["a": 3], "large": .decimal(Decimal(UInt64.max)), "nothing": nil, "sum": 4, "text": "3 posts",
            ])
        #expect(events[3].traits == ["n": 3])
        #expect(events[4].traits == ["n": 3, "name": "Ada", "plan": "free"])
        #expect(events[5].properties == ["unread": 3] && events[6].properties == ["unread": 3, "name": "Ada"])
        #expect(events[7].traits == ["seats": 3])
    }

    struct Traits: Encodable { var plan = "pro" }

    @Test func `properties and traits take literals, dictionaries and types`() {
        let properties: [String: PropertyValue] = ["a": 1]
        rig.analytics.track("1", properties)
        rig.analytics.track("2", ["a": nil, "b": [nil, true, 1.5], "c": ["d": 1, "e": "x"]])
        rig.analytics.track("3", [:])
        rig.analytics.identify("u", traits: Traits())
        rig.analytics.identify("u", traits: properties)
        rig.analytics.screen("s", Traits())
        #expect(rig.events[1].properties == ["a": nil, "b": [nil, true, 1.5], "c": ["d": 1, "e": "x"]])
        #expect(rig.events[3].traits == ["plan": "pro"] && rig.events[4].traits == ["a": 1])
        #expect(rig.events[5].properties == ["plan": "pro"])
    }

    struct InboxRegistry {
        let events: any EventSending
        let shop: AnalyticsChannel<ShopEvent>

        init(_ events: any EventSending) {
            self.events = events
            shop = events.of(ShopEvent.self)
        }

        func opened() {
            events.screen("Inbox")
            events.identify("u1", traits: ["plan": "pro"])
            shop.track(.cartViewed)
            shop.start(.cartViewed).stop()
            shop.measure(.couponApplied(code: "X")) {}
        }
    }

    @Test func `a registry records screens and users, and a channel takes leading dots`() async {
        InboxRegistry(rig.analytics).opened()
        await rig.analytics.of(ShopEvent.self).measure(.cartViewed) { await Task.yield() }
        #expect(rig.events.map(\.kind.rawValue) == ["screen", "identify"] + Array(repeating: "track", count: 7))
        expect(rig.analytics).tracked(ShopEvent.cartViewed, times: 5).tracked(
            ShopEvent.couponApplied(code: "X"), times: 2)
    }

    @Test func `a value for a vendor has Swift's own types`() throws {
        let value: PropertyValue = ["a": 1, "b": [true, nil, "x"], "c": nil, "d": 1.5]
        let any = try #require(value.any as? [String: Any])
        #expect(any["a"] as? Int == 1 && any["d"] as? Double == 1.5 && any.keys.contains("c") == false)
        #expect((any["b"] as? [Any])?.count == 2)
        #expect(PropertyValue.null.any == nil)
        #expect(["a": 1].any["a"] as? Int == 1)
    }

    @Test func `a value survives encoding and decoding`() throws {
        let value: PropertyValue = [
            "a": 1, "b": [true, nil, "x", 1.5, -7],
            "c": .decimal(try #require(Decimal(string: "12345678901234567890.5"))),
        ]
        let decoded = try JSONDecoder().decode(PropertyValue.self, from: JSONEncoder().encode(value))
        #expect(decoded == value)
        #expect(PropertyValue.date(Date(timeIntervalSince1970: 7)).date == Date(timeIntervalSince1970: 7))
    }

    /// Each diagnostic about an event names it and the place of the call.
    @Test func `diagnostics name the event and the call`() {
        let rig = Rig { $0.maximumEventSize = 600 }
        rig.analytics.track("Large", ["text": .string(String(repeating: "x", count: 700))])
        rig.analytics.track("Strange", ["value": .double(.nan)])
        rig.analytics.identify("")
        rig.analytics.track("")
        rig.analytics.update(settings: Traits())
        rig.analytics.start(session: .unauthenticated(3))
        rig.analytics.consent = .undecided
        let messages = rig.diagnostics.messages
        #expect(
            messages.map { String($0.prefix { $0 != ":" }) } == [
                #""Large" at PenstockTests/CallSiteTests.swift"#, #""Strange" at PenstockTests/CallSiteTests.swift"#,
                "\"identify\" at PenstockTests/CallSiteTests.swift",
                "\"Untyped Event\" at PenstockTests/CallSiteTests.swift",
                "the session's settings at PenstockTests/CallSiteTests.swift",
                "the session's settings at PenstockTests/CallSiteTests.swift",
            ])
    }
}
