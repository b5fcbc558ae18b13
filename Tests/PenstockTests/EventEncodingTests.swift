import Foundation
import Synchronization
import Penstock
import PenstockTesting
import Testing

/// The conversion of a typed event to its name and properties.
@Suite struct EventEncodingTests {
    let rig = Rig()

    @Test func `an enum case is an event, and its labelled values are properties`() throws {
        #expect(
            try rig.properties(ShopEvent.orderCompleted(orderID: "A1", total: 12.5))
                == #"{"orderID":"A1","total":12.5}"#)
        #expect(try rig.event().name == "Order Completed")
    }

    @Test func `an enum case without values has no properties`() throws {
        #expect(try rig.properties(ShopEvent.cartViewed) == "{}")
        #expect(try rig.event().name == "Cart Viewed")
    }

    @Test func `a nil value is not a property`() throws {
        #expect(try rig.properties(ShopEvent.couponApplied(code: nil)) == "{}")
    }

    enum SnakeEvent: AnalyticsEvent {
        case postLiked(postID: Int)
        case refreshed
        static var namePolicy: EventNamePolicy { .snakeCase }
        enum CodingKeys: String, CodingKey { case postLiked, refreshed = "feed_refreshed" }
        enum PostLikedCodingKeys: String, CodingKey { case postID = "post_id" }
        var consentCategory: ConsentCategory { if case .refreshed = self { .necessary } else { .analytics } }
    }

    @Test func `names and properties are spelled by policy and coding keys`() throws {
        #expect(try rig.properties(SnakeEvent.postLiked(postID: 7)) == #"{"post_id":7}"#)
        rig.analytics.track(SnakeEvent.refreshed)
        #expect(rig.events.map(\.name) == ["post_liked", "feed_refreshed"])
        #expect(rig.events.map(\.consentCategory) == [.analytics, .necessary])
    }

    enum NamedEvent: AnalyticsEvent {
        case shown(page: Int)
        case hidden
        var eventName: String? { if case .shown = self { "Onboarding \"Shown\"" } else { nil } }
    }

    @Test func `an enum case can have its own name`() throws {
        #expect(try rig.properties(NamedEvent.shown(page: 1)) == #"{"page":1}"#)
        rig.analytics.track(NamedEvent.hidden)
        #expect(rig.events.map(\.name) == ["Onboarding \"Shown\"", "Hidden"])
    }

    struct ProductViewed: AnalyticsEvent {
        var sku = "S-1"
        var tags = ["a", "b"]
        var maker: [String: Int]? = ["id": 3]
    }
    struct NothingSaid: AnalyticsEvent {}
    struct Renamed: AnalyticsEvent {
        var sku = 1
        var eventName: String? { "renamed" }
    }

    @Test func `a struct is one event that is named after its type`() throws {
        #expect(try rig.properties(ProductViewed()) == #"{"sku":"S-1","tags":["a","b"],"maker":{"id":3}}"#)
        rig.analytics.track(NothingSaid())
        rig.analytics.track(Renamed())
        #expect(rig.events.map(\.name) == ["Product Viewed", "Nothing Said", "renamed"])
    }

    enum Tab: String, AnalyticsEvent { case home, mySettings }
    enum Wrapping: AnalyticsEvent {
        case productViewed(ProductViewed)
        case counted(Int)
        case both(ProductViewed, Int)
    }

    @Test func `a string enum is an event without properties`() throws {
        rig.analytics.track(Tab.mySettings)
        #expect(try rig.event().name == "My Settings")
        #expect(try rig.event().properties.isEmpty)
    }

    @Test func `a single value without a label becomes the properties`() {
        rig.analytics.track(Wrapping.productViewed(ProductViewed(maker: nil)))
        #expect(rig.events.map(\.properties) == [["sku": "S-1", "tags": ["a", "b"]]])
    }

    @Test func `a value without a label is an error in a debug build`() {
        let line = #line + 1
        rig.analytics.track(Wrapping.counted(3))
        rig.analytics.track(Wrapping.both(ProductViewed(maker: nil), 3))
        #expect(rig.events.isEmpty)
        #expect(rig.diagnostics.codes == [.invalid, .invalid])
        #expect(
            rig.diagnostics.messages[0].hasPrefix(
                #""Counted" at PenstockTests/EventEncodingTests.swift:\#(line) was not recorded: it has a value without"#
            ),
            "\(rig.diagnostics.messages)")
        #expect(rig.diagnostics.all.withLock { $0[0].event } == "Counted")
        #expect(rig.diagnostics.all.withLock { $0[1].callSite } == "PenstockTests/EventEncodingTests.swift:\(line + 1)")
    }

    enum SpelledEvent: AnalyticsEvent {
        case profileFields(firstNameChanged: Bool, totalFieldsChanged: Int, nested: [String: Int])
        case twice(contactIndex: Int, contact_index: Int)
        case product(ProductViewed)
        static var propertyNamePolicy: EventNamePolicy { .titleCase }
    }
    struct SnakeStruct: AnalyticsEvent {
        var contactIndex = 1
        var url = ["innerKey": 2]
        static var propertyNamePolicy: EventNamePolicy { .snakeCase }
    }

    @Test func `the names of properties are spelled by their policy`() throws {
        #expect(
            try rig.properties(
                SpelledEvent.profileFields(firstNameChanged: true, totalFieldsChanged: 3, nested: ["aB": 1]))
                == #"{"First Name Changed":true,"Total Fields Changed":3,"Nested":{"aB":1}}"#)
        rig.analytics.track(SnakeStruct())
        rig.analytics.track(SpelledEvent.product(ProductViewed(maker: nil)))
        #expect(rig.events[1].properties == ["contact_index": 1, "url": ["innerKey": 2]])
        #expect(rig.events[2].properties == ["Sku": "S-1", "Tags": ["a", "b"]])
        rig.analytics.track(SpelledEvent.twice(contactIndex: 1, contact_index: 2))
        #expect(rig.events.count == 3)
        #expect(rig.diagnostics.messages.first?.contains(#"two properties named "Contact Index""#) == true)
    }

    /// The fuzz test with random values found this one.
    @Test func `a property with the name of an unlabelled value stays a property`() throws {
        rig.analytics.track("x", ["_0": ["a": 1]])
        #expect(try rig.event().properties == ["_0": ["a": 1]])
    }

    struct Values: AnalyticsEvent {
        var date = Date(timeIntervalSince1970: 1_769_860_800.123)
        var old = Date(timeIntervalSince1970: -1)
        var dates = [Date(timeIntervalSince1970: 951_782_400)]
        var decimal = Decimal(string: "-12345678901234567890.123456789")
        var url = URL(string: "https://example.org/a?b=c")
        var data = Data([0, 255])
        var id = UUID(uuidString: "00000000-0000-4000-8000-00000000000A")
        var unsigned = UInt64.max
        var smallest = Int64.min
        var double = 0.1
        var float = Float(0.1)
        var whole = 12.0
        var large = 1e300
        var text = "a\"b\\c\n\u{0}\u{1F}\u{7F}é🙂\u{2028}"
        var mixed: PropertyValue = ["b": [nil, true, 1.5], "a": .date(Date(timeIntervalSince1970: 0))]
    }

    @Test func `values are encoded in the forms of the specification`() throws {
        #expect(
            try rig.properties(Values()) == #"{"date":"2026-01-31T12:00:00.123Z","old":"1969-12-31T23:59:59.000Z","#
                + #""dates":["2000-02-29T00:00:00.000Z"],"decimal":-12345678901234567890.123456789,"#
                + #""url":"https://example.org/a?b=c","data":"AP8=","id":"00000000-0000-4000-8000-00000000000A","#
                + #""unsigned":18446744073709551615,"smallest":-9223372036854775808,"double":0.1,"float":0.1,"whole":12.0,"#
                + #""large":1e+300,"text":"a\"b\\c\n\u0000\u001f"# + "\u{7F}é🙂\u{2028}"
                + #"","mixed":{"a":"1970-01-01T00:00:00.000Z","b":[null,true,1.5]}}"#)
        #expect(try rig.event().properties["text"]?.string == Values().text)
        #expect(try rig.event().properties["decimal"] == .decimal(try #require(Values().decimal)))
    }

    struct Unspeakable: AnalyticsEvent {
        var a = Double.nan
        var b = [Double.infinity, -.infinity]
        var c = Decimal.nan
        var d = Float.nan
        var e = Date(timeIntervalSince1970: .infinity)
    }

    @Test func `a value that JSON cannot express becomes null and is reported`() throws {
        #expect(try rig.properties(Unspeakable()) == #"{"a":null,"b":[null,null],"c":null,"d":null,"e":null}"#)
        #expect(rig.diagnostics.codes == [.valueReplaced])
        #expect(rig.diagnostics.messages[0].contains("has 6 values that were recorded as null"))
    }

    // MARK: Encoded by hand

    class Base: Encodable {
        var base = 1
        enum BaseKeys: CodingKey { case base }
        func encode(to encoder: any Encoder) throws {
            var container = encoder.container(keyedBy: BaseKeys.self)
            try container.encode(base, forKey: .base)
        }
    }
    final class Derived: Base {
        var derived = 2
        enum Keys: CodingKey { case derived }
        override func encode(to encoder: any Encoder) throws {
            try super.encode(to: encoder)
            var container = encoder.container(keyedBy: Keys.self)
            try container.encode(derived, forKey: .derived)
        }
    }

    /// An event whose `encode(to:)` is a closure.
    struct ByHand: AnalyticsEvent {
        var body: @Sendable (any Encoder) throws -> Void
        func encode(to encoder: any Encoder) throws { try body(encoder) }
    }

    enum Key: String, CodingKey { case a, b, c, d }

    @Test func `a class and its superclass share one object`() throws {
        #expect(
            try rig.properties(
                ByHand { encoder in
                    var container = encoder.container(keyedBy: Key.self)
                    try container.encode(Derived(), forKey: .a)
                }) == #"{"a":{"base":1,"derived":2}}"#)
    }

    @Test func `containers can be filled in any order`() throws {
        #expect(
            try rig.properties(
                ByHand { encoder in
                    var container = encoder.container(keyedBy: Key.self)
                    try container.encode(1, forKey: .a)
                    var list = container.nestedUnkeyedContainer(forKey: .b)
                    try list.encode("x")
                    var nested = list.nestedContainer(keyedBy: Key.self)
                    try container.encode(Derived(), forKey: .c)
                    try nested.encode(Date(timeIntervalSince1970: 0), forKey: .d)
                    try list.encode(Double.nan)
                    let later = container.superEncoder(forKey: .d)
                    try list.encodeNil()
                    var last = later.singleValueContainer()
                    try last.encode(["y"])
                })
                == #"{"a":1,"b":["x",{"d":"1970-01-01T00:00:00.000Z"},null,null],"c":{"base":1,"derived":2},"d":["y"]}"#
        )
        #expect(rig.diagnostics.codes == [.valueReplaced])
        #expect(rig.diagnostics.messages.first?.contains("has 1 value that was recorded as null") == true)
    }

    @Test func `an enum case can be filled in any order`() throws {
        #expect(
            try rig.properties(
                ByHand { encoder in
                    var container = encoder.container(keyedBy: Key.self)
                    var nested = container.nestedContainer(keyedBy: Key.self, forKey: .a)
                    var inner = nested.nestedContainer(keyedBy: Key.self, forKey: .b)
                    try nested.encode(1, forKey: .c)
                    try inner.encode(2, forKey: .d)
                }) == #"{"b":{"d":2},"c":1}"#)
        #expect(try rig.event().name == "A")
    }

    static let mistakes: [(String, ByHand)] = [
        (
            "two properties",
            ByHand { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(1, forKey: .a)
                try container.encode(2, forKey: .a)
            }
        ),
        (
            "two values",
            ByHand { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(TwoValues(), forKey: .a)
            }
        ),
        (
            "two names",
            ByHand { encoder in
                var container = encoder.container(keyedBy: Key.self)
                _ = container.nestedContainer(keyedBy: Key.self, forKey: .a)
                try container.encode(1, forKey: .b)
            }
        ),
        (
            "not an object",
            ByHand { encoder in
                var container = encoder.unkeyedContainer()
                try container.encode(1)
            }
        ),
        (
            "not an object",
            ByHand { encoder in
                var container = encoder.singleValueContainer()
                try container.encode(17)
            }
        ),
        (
            "no name",
            ByHand { encoder in
                var container = encoder.singleValueContainer()
                try container.encode("")
            }
        ),
        (
            "deeper than",
            ByHand { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(Endless(), forKey: .a)
            }
        ),
        (
            "too large",
            ByHand { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try container.encode(Array(repeating: "0123456789", count: 10_000_000 / 10), forKey: .a)
            }
        ),
        (
            "a value in it",
            ByHand { encoder in
                var container = encoder.container(keyedBy: Key.self)
                try? container.encode(Failing(), forKey: .a)
                try? container.encode(1, forKey: .b)
            }
        ),
        (
            "a value in it",
            ByHand { encoder in
                var container = encoder.container(keyedBy: Key.self)
                var list = container.nestedUnkeyedContainer(forKey: .c)
                try container.encode(1, forKey: .b)
                try? list.encode(Failing())
            }
        ),
        (
            "the disk is full",
            ByHand { _ in
                throw EncodingError.invalidValue(1, .init(codingPath: [], debugDescription: "the disk is full"))
            }
        ),
    ]

    struct TwoValues: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.singleValueContainer()
            try container.encode(1)
            try container.encode(2)
        }
    }
    struct Failing: Encodable {
        struct Failure: Error {}
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode(1)
            throw Failure()
        }
    }
    struct Endless: Encodable {
        func encode(to encoder: any Encoder) throws {
            var container = encoder.unkeyedContainer()
            try container.encode(Endless())
        }
    }

    @Test(arguments: mistakes.indices)
    func `an event that cannot be encoded is reported, and the next one is whole`(index: Int) throws {
        let (reason, event) = Self.mistakes[index]
        rig.analytics.track(event)
        #expect(rig.recording.events.isEmpty)
        #expect(rig.diagnostics.messages.count == 1)
        #expect(rig.diagnostics.messages.first?.contains(reason) == true, "\(rig.diagnostics.messages)")
        #expect(rig.analytics.statistics.failed == 1)
        #expect(try rig.properties(ShopEvent.cartViewed) == "{}")
    }
}
